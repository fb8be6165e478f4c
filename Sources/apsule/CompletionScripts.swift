/// What shells load; the candidates come from `apsule __complete`.
enum CompletionScripts {
    static let bash = #"""
        # bash completion for apsule: source <(apsule completion bash)
        _apsule() {
            local line=${COMP_LINE:0:COMP_POINT} candidate current cut=
            local -a words candidates
            read -ra words <<< "$line"
            # A blank before the cursor begins a new word.
            [[ $line == *[[:space:]] ]] && words+=("")
            current=${words[-1]}
            # readline replaces only what stands after a colon or an equals sign.
            [[ $current == *[:=]* ]] && cut=${current%"${current##*[:=]}"}
            COMPREPLY=()
            mapfile -t candidates < <("$1" __complete -- "${words[@]:1}" 2> /dev/null)
            for candidate in "${candidates[@]}"; do
                candidate=${candidate%%$'\t'*}
                case $candidate in
                :folder) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "${current#"$cut"}") ;;
                :file) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "${current#"$cut"}") ;;
                *=) compopt -o nospace; COMPREPLY+=("${candidate#"$cut"}") ;;
                *:) compopt -o nospace; COMPREPLY+=("${candidate#"$cut"}") ;;
                *) COMPREPLY+=("${candidate#"$cut"}") ;;
                esac
            done
        }
        complete -F _apsule apsule

        """#

    static let zsh = #"""
        #compdef apsule
        # zsh completion for apsule: source <(apsule completion zsh), or save it as _apsule in a folder of $fpath.
        _apsule() {
            local line value
            local -a lines open closed
            lines=("${(@f)$(${(Q)words[1]} __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}")
            for line in $lines; do
                value=${line%%$'\t'*}
                case $value in
                :folder) _files -/ ;;
                :file) _files ;;
                *[:=]) open+=("${value//:/\\:}:${line#*$'\t'}") ;;
                *) closed+=("${value//:/\\:}:${line#*$'\t'}") ;;
                esac
            done
            (( $#open )) && _describe -t apsule apsule open -S ''
            (( $#closed )) && _describe -t apsule apsule closed
        }
        if [[ $funcstack[1] == _apsule ]]; then _apsule "$@"; else compdef _apsule apsule; fi

        """#
}
