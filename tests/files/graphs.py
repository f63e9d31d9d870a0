"""Edge lists and GraphML files that are none, or that unfold."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

from tests.files.whole import GRAPHML, Case


def graphs() -> Iterator[Case]:
    """Yield edge lists and GraphML files that are none, or that unfold."""
    lists = (
        *(
            "",
            "\n",
            " ",
            "#",
            "# only a comment\n",
            "%\n",
            "a\n",
            "a b c d\n",
            "a b c\n",
            "a b nan\n",
        ),
        *(
            "a b inf\n",
            "a b 1e999\n",
            "a b -1\n",
            ",\n",
            ",,\n",
            "\t\t\n",
            ";;;;\n",
            "a,\n",
            ",a\n",
        ),
        *("\ufeffa b\n", "a\u2028b c\n", "a b\r\nb c\r\n", "a b\rb c\r", '"a b" c\n', "a b" * 9999),
        *("a " * 10_000, "a" * 10**6 + " b\n", "1 2 0x3\n", "1 2 1_0\n", "source,target\n"),
        *(
            "source,target,weight\na,b,x\n",
            "source,target\na,\n",
            "from,to\n,\n",
            "source,target\n1,2\n",
        ),
        *(
            "source,target,weight\na,b,\n",
            "source,target,weight\na,b,inf\n",
            "source,target\n1.5,NA\n",
        ),
    )
    for text in lists:
        for suffix, what in ((".edges", "auto"), (".csv", "auto"), (".csv", "graph")):
            data = text.encode("utf-8", "replace")
            yield Case(f"edges {text[:20]!r} {suffix} {what}", suffix, data, {}, what)
    start = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "lol"}">' for i in range(10))
    documents: dict[str, bytes] = {
        "entities": f"<!DOCTYPE x [{laughs}]><graphml>&l9;</graphml>".encode(),
        "entities in UTF-16": f"<!DOCTYPE x [{laughs}]><graphml>&l9;</graphml>".encode("utf-16"),
        "entities in UTF-7": (
            b'<?xml version="1.0" encoding="UTF-7"?>'
            + f"<!DOCTYPE x [{laughs}]><graphml>&l9;</graphml>".encode("utf-7")
        ),
        "quadratic entities": (
            f'<!DOCTYPE x [<!ENTITY a "{"a" * 50_000}">]><graphml>{"&a;" * 50_000}</graphml>'
        ).encode(),
        "a file as an entity": (
            b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><graphml>&a;</graphml>'
        ),
        "depth": start.encode() + b"<a>" * 10**6,
        "depth that ends": (
            start.encode() + b"<graph>" * 100_000 + b"</graph>" * 100_000 + b"</graphml>"
        ),
        "many attributes": b"<graphml " + b" ".join(b'a%d="1"' % i for i in range(10**5)) + b"/>",
        "an attribute twice": b'<graphml a="1" a="2"/>',
        "no graph": start.encode() + b"</graphml>",
        "an empty graph": start.encode() + b"<graph/></graphml>",
        "another language": b"<html><body>404</body></html>",
        "a comment alone": b"<!-- -->",
        "a node without a name": start.encode() + b"<graph><node/><node/></graph></graphml>",
        "an edge without ends": (
            start.encode() + b'<graph><node id="a"/><edge source="a"/></graph></graphml>'
        ),
        "an edge to nowhere": (
            start.encode() + b'<graph><node id="a"/><edge source="a" target="b"/></graph></graphml>'
        ),
        "processing": b"<?xml-stylesheet href='x'?>" + start.encode() + b"<graph/></graphml>",
    }
    for weight in ("", "x", "nan", "inf", "1e999", "-1", "1,5", "9" * 9999):
        text = GRAPHML.replace("2.5", weight)
        documents[f"a weight of {weight[:9]!r}"] = text.encode()
    for encoding in (
        *("utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "ascii", "utf-7", "cp1252"),
        *("shift_jis", "gb18030", "cp037", "klingon", "rot13", "idna", "hex", "", "\0", "UTF-8"),
    ):
        for label in (encoding, "UTF-8"):
            told = GRAPHML.replace("UTF-8", label)
            try:
                data = told.encode(encoding, "replace")
            except (LookupError, ValueError):
                data = told.encode()
            documents[f"{encoding!r} that says {label!r}"] = data
    documents |= {
        "many nodes": (
            start.encode() + b"<graph>" + b'<node id="a"/>' * 300_000 + b"</graph></graphml>"
        ),
        "zeros": bytes(1000),
        "a bomb": b"<graphml>" + b" " * 2**25 + b"</graphml>",
    }
    for name, data in documents.items():
        yield Case(f"GraphML: {name}", ".graphml", data)
        yield Case(f"GraphML: {name}, packed", ".graphml.gz", gzip.compress(data))
