# Where the shells look; each asks the program for the words.
bashcompletionsdir = $(datadir)/bash-completion/completions
dist_bashcompletions_DATA = %D%/roofcast.bash
zshcompletionsdir = $(datadir)/zsh/site-functions
dist_zshcompletions_DATA = %D%/_roofcast
fishcompletionsdir = $(datadir)/fish/vendor_completions.d
dist_fishcompletions_DATA = %D%/roofcast.fish
