# Completion of the mercer command for bash; for zsh too, after `autoload -U bashcompinit`
# and `bashcompinit`.
# Written by `python -m mercer.cli.completion`; do not edit.

_mercer() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
    local words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "fit report serve project check dim curve compare replicates graphs demo plan doctor --help --version" -- "$word"))
        return
    fi
    case "$command $before" in
        "fit --method") words="pca kpca mca famd ca mds stress" ;;
        "fit --distance") words="euclidean manhattan bray-curtis ruzicka jaccard chi-square hellinger chord aitchison gower" ;;
        "fit --correction") words="lingoes cailliez power clip" ;;
        "fit --loss") words="stress sstress sammon ordinal" ;;
        "fit --as") words="auto table matrix fasta strings sets" ;;
        "fit --impute") words="mean pca mode level" ;;
        "fit --decimal") words=". ," ;;
        "report --method") words="pca kpca mca famd ca mds stress" ;;
        "report --distance") words="euclidean manhattan bray-curtis ruzicka jaccard chi-square hellinger chord aitchison gower" ;;
        "report --correction") words="lingoes cailliez power clip" ;;
        "report --loss") words="stress sstress sammon ordinal" ;;
        "report --as") words="auto table matrix fasta strings sets" ;;
        "report --impute") words="mean pca mode level" ;;
        "report --decimal") words=". ," ;;
        "project --as") words="auto table matrix fasta strings sets" ;;
        "project --impute") words="mean pca mode level" ;;
        "project --decimal") words=". ," ;;
        "check --of") words="gram distances squares" ;;
        "check --as") words="auto table matrix fasta strings sets" ;;
        "check --impute") words="mean pca mode level" ;;
        "check --decimal") words=". ," ;;
        "dim --method") words="pca kpca mca famd ca mds stress" ;;
        "dim --distance") words="euclidean manhattan bray-curtis ruzicka jaccard chi-square hellinger chord aitchison gower" ;;
        "dim --correction") words="lingoes cailliez power clip" ;;
        "dim --loss") words="stress sstress sammon ordinal" ;;
        "dim --as") words="auto table matrix fasta strings sets" ;;
        "dim --impute") words="mean pca mode level" ;;
        "dim --decimal") words=". ," ;;
        "curve --method") words="spline ridge gp" ;;
        "curve --criterion") words="gcv loo reml cv" ;;
        "curve --as") words="auto table matrix fasta strings sets" ;;
        "curve --impute") words="mean pca mode level" ;;
        "curve --decimal") words=". ," ;;
        "compare --test") words="permutation multiplier pearson" ;;
        "compare --consensus") words="statis full-umkl sparse-umkl" ;;
        "compare --as") words="auto table matrix fasta strings sets" ;;
        "compare --impute") words="mean pca mode level" ;;
        "compare --decimal") words=". ," ;;
        "replicates --infer") words="correlation spearman partial glasso" ;;
        "replicates --as") words="auto table matrix fasta strings sets" ;;
        "replicates --impute") words="mean pca mode level" ;;
        "replicates --decimal") words=". ," ;;
        "graphs --labels") words="own names none" ;;
        "demo demo") words="planets decathlon iris swiss us_cities eurodist circles disc_and_ring plants" ;;
    esac
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        return
    fi
    case "$command" in
        fit) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --out --coords --picture --checkpoint --force --raw --bootstrap --jackknife --path --importance --preimages --clusters --permutations --method --kernel --distance --rank --scale --no-scale --active --exact --nystrom --tol --seed --correction --loss --as --id --drop --factor --colour --cols --sup-cols --sup-rows --weights --strict --drop-na --impute --na --delimiter --decimal --encoding --header --no-header --skip --sheet --transpose --no-transpose --memory" ;;
        report) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --out --title --open --permutations --max-mb --force --curved --curved-exact --bootstrap --jackknife --path --importance --preimages --clusters --method --kernel --distance --rank --scale --no-scale --active --exact --nystrom --tol --seed --correction --loss --as --id --drop --factor --colour --cols --sup-cols --sup-rows --weights --strict --drop-na --impute --na --delimiter --decimal --encoding --header --no-header --skip --sheet --transpose --no-transpose --memory" ;;
        serve) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --port --host --no-open" ;;
        project) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --out --force --raw --as --id --drop --strict --drop-na --impute --na --delimiter --decimal --encoding --header --no-header --skip --sheet --transpose --no-transpose --memory" ;;
        check) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --kernel --of --seed --as --id --drop --factor --colour --cols --sup-cols --sup-rows --weights --strict --drop-na --impute --na --delimiter --decimal --encoding --header --no-header --skip --sheet --transpose --no-transpose --memory" ;;
        dim) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --permutations --level --share --method --kernel --distance --rank --scale --no-scale --active --exact --nystrom --tol --seed --correction --loss --as --id --drop --factor --colour --cols --sup-cols --sup-rows --weights --strict --drop-na --impute --na --delimiter --decimal --encoding --header --no-header --skip --sheet --transpose --no-transpose --memory" ;;
        curve) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --y --x --method --kernel --penalty --df --criterion --scale --no-scale --confidence --seed --page --no-page --title --open --out --fitted --force --raw --as --id --drop --factor --colour --cols --sup-cols --sup-rows --weights --strict --drop-na --impute --na --delimiter --decimal --encoding --header --no-header --skip --sheet --transpose --no-transpose --memory" ;;
        compare) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --kernel --scale --no-scale --permutations --test --consensus --neighbours --seed --out --page --force --raw --as --id --drop --factor --colour --cols --sup-cols --sup-rows --weights --strict --drop-na --impute --na --delimiter --decimal --encoding --header --no-header --skip --sheet --transpose --no-transpose --memory" ;;
        replicates) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --condition --infer --threshold --power --unsigned --penalty --kernel --sizes --draws --confidence --seed --threads --page --no-page --title --open --out --edges --force --raw --as --id --drop --factor --colour --cols --sup-cols --sup-rows --weights --strict --drop-na --impute --na --delimiter --decimal --encoding --header --no-header --skip --sheet --transpose --no-transpose --memory" ;;
        graphs) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --kernel --rank --labels --label --pattern --simplify --seed --page --no-page --title --open --clusters --out --coords --force --raw" ;;
        demo) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --out --no-open" ;;
        plan) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --individuals --variables --rank --landmarks --memory --on-disk --workers --cores --gpus" ;;
        doctor) words="-h --help --json --dry-run -q --quiet -v --verbose --no-color --debug --individuals --variables --rank" ;;
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}
complete -o filenames -F _mercer mercer
