"""What calls return: classes to test for and to read about, each found when it is first used."""

from mercer.settings import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
