# Completes toy in fish; written by `toy completions fish`.
function __toy_value_color_
    printf '%s\t%s\n' 'red' 'like a rose'
    printf '%s\t%s\n' 'blue' '[like] the sea'
    printf '%s\t%s\n' 'dark:red' ''
end
function __toy_value_text_md
    printf '%s\t%s\n' 'text' ''
    printf '%s\t%s\n' 'md' ''
end
function __toy_value_dir
    __fish_complete_directories (commandline -ct)
end
function __toy_value_color
    printf '%s\t%s\n' 'red' 'like a rose'
    printf '%s\t%s\n' 'blue' '[like] the sea'
    printf '%s\t%s\n' 'dark:red' ''
end
complete -c toy -f
complete -c toy -n __fish_use_subcommand -a find -d 'Find it, and don\'t stop: never'
complete -c toy -n __fish_use_subcommand -a list -d 'List all'
complete -c toy -n __fish_use_subcommand -s h -l help -d 'Print this'
complete -c toy -n '__fish_seen_subcommand_from find' -s h -l help -d 'Print this'
complete -c toy -n '__fish_seen_subcommand_from find' -l color -r -f -a '(__fish_complete_list , __toy_value_color_)' -d 'Which colours'
complete -c toy -n '__fish_seen_subcommand_from find' -l format -r -f -a '(__toy_value_text_md)' -d 'How'
complete -c toy -n '__fish_seen_subcommand_from find' -l out -r -f -a '(__toy_value_dir)' -d 'Where to'
complete -c toy -n '__fish_seen_subcommand_from find' -l seed -r -f -d 'Seed'
complete -c toy -n '__fish_seen_subcommand_from find' -F -d 'What'
complete -c toy -n '__fish_seen_subcommand_from list' -a deep -d 'List more'
complete -c toy -n '__fish_seen_subcommand_from list' -s h -l help -d 'Print this'
complete -c toy -n '__fish_seen_subcommand_from list; and __fish_seen_subcommand_from deep' -s h -l help -d 'Print this'
complete -c toy -n '__fish_seen_subcommand_from list; and __fish_seen_subcommand_from deep' -f -a '(__toy_value_color)' -d ''
