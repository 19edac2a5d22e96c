package sandbox

// toolFolders lists folders of a home with programs and their data. Commands can read them, and the
// folders in PATH and [folderVariables].
var toolFolders = []string{
	".local/bin", ".local/lib", ".local/opt", ".local/share/mise", ".local/share/man", ".local/share/fnm",
	".local/share/bash-completion", ".local/share/coursier", ".local/share/swiftly", ".local/share/rtx", ".local/pipx",
	".local/state/nix", ".local/state/mise", "bin", ".nix-profile", ".nix-defexpr", ".linuxbrew",
	".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".phpenv", ".plenv", ".tfenv", ".rvm", ".nvm", ".fnm", ".n", ".asdf", ".sdkman",
	".volta", ".mise", ".rye", ".pixi", ".juliaup", ".elan", ".krew", ".foundry", ".swiftly", ".kerl", ".evm", ".proto", ".moon",
	".virtualenvs", ".conda", "miniconda3", "miniforge3", "mambaforge", "anaconda3", "micromamba", ".node_modules", ".npm-global",
	".npm-packages", ".node-gyp", ".nltk_data", "nltk_data", ".texlive", "texmf", "R", ".R", ".local/share/R", ".clojure", ".jdks",
	"sdk", "Library/Python", "Library/Android/sdk", "Android/Sdk", ".local/share/applications/flutter", "flutter",
}

// folderVariables name further folders, or lists of folders.
var folderVariables = []string{
	"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_EXE", "MAMBA_ROOT_PREFIX", "WORKON_HOME", "PYENV_ROOT", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE",
	"RBENV_ROOT", "GEM_HOME", "GEM_PATH", "RUBYLIB", "NVM_DIR", "FNM_DIR", "NODENV_ROOT", "VOLTA_HOME", "NODE_PATH", "N_PREFIX", "npm_config_prefix",
	"GOROOT", "GOENV_ROOT", "JAVA_HOME", "JDK_HOME", "MAVEN_HOME", "M2_HOME", "GRADLE_HOME", "SDKMAN_DIR", "KOTLIN_HOME", "SCALA_HOME",
	"ANDROID_HOME", "ANDROID_SDK_ROOT", "ANDROID_NDK_HOME", "FLUTTER_ROOT", "DOTNET_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR",
	"PERL5LIB", "PERL_LOCAL_LIB_ROOT", "OPAM_SWITCH_PREFIX", "NIX_PROFILES", "HOMEBREW_PREFIX", "LD_LIBRARY_PATH", "LIBRARY_PATH",
	"PKG_CONFIG_PATH", "CPATH", "CMAKE_PREFIX_PATH", "MANPATH", "R_LIBS_USER", "R_LIBS", "VCPKG_ROOT", "EMSDK", "IDF_PATH", "PICO_SDK_PATH",
	"PLAYWRIGHT_BROWSERS_PATH", "NLTK_DATA", "CUDA_HOME", "RUSTUP_HOME", "TERMINFO",
}

// settingsFiles are settings of tools in a home. Commands see copies without values resembling
// secrets.
var settingsFiles = []string{
	".gitconfig", ".gitignore", ".gitignore_global", ".gitattributes", ".gitmessage", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", ".config/pnpm/rc", ".config/pnpm/config.yaml", ".default-npm-packages",
	".config/pip/pip.conf", ".pip/pip.conf", "pip.ini", ".pydistutils.cfg", ".config/uv/uv.toml", ".config/pypoetry/config.toml", ".config/pdm/config.toml",
	".config/hatch/config.toml", ".condarc", ".mambarc", ".config/ruff/ruff.toml", ".config/ruff/pyproject.toml", ".config/black", ".config/flake8",
	".flake8", ".pylintrc", ".config/pylintrc", ".mypy.ini", ".config/mypy/config", ".config/pycodestyle", ".config/yapf/style", ".isort.cfg",
	".config/matplotlib/matplotlibrc", ".config/go/env", "Library/Application Support/go/env", ".gemrc", ".irbrc", ".rspec", ".rubocop.yml", ".bundle/config", ".m2/settings.xml", ".m2/toolchains.xml", ".mavenrc",
	".config/composer/config.json", ".config/NuGet/NuGet.Config", ".Rprofile", ".Renviron", ".config/rustfmt/rustfmt.toml", ".rustfmt.toml",
	".config/clangd/config.yaml", ".clang-format", ".clang-tidy", ".config/ccache/ccache.conf", ".config/yamllint/config", ".shellcheckrc", ".config/shellcheckrc",
	".editorconfig", ".prettierrc", ".eslintrc", ".eslintrc.json", ".stylelintrc", ".config/nix/nix.conf", ".config/nixpkgs/config.nix", ".config/mise/config.toml",
	".tool-versions", ".node-version", ".python-version", ".ruby-version", ".java-version", ".go-version", ".nvmrc", ".sdkmanrc", ".asdfrc",
	".curlrc", ".wgetrc", ".inputrc", ".terminfo", ".dircolors", ".ripgreprc", ".config/ripgrep/config", ".ackrc", ".agignore", ".ignore", ".rgignore",
	".config/fd/ignore", ".jq", ".sqliterc", ".psqlrc", ".gdbinit", ".lldbinit", ".ctags", ".ctags.d/default.ctags", ".latexmkrc", ".hgrc", ".ocamlinit", ".ghci",
	".config/user-dirs.dirs",
}

// toolSettings are settings in a tool's own folder. A copy without secrets replaces each.
var toolSettings = []string{
	".cargo/config.toml", ".cargo/config", ".gradle/gradle.properties", ".gradle/init.gradle", ".gradle/init.gradle.kts", ".cabal/config", ".composer/config.json",
	".nuget/NuGet/NuGet.Config", ".stack/config.yaml", ".ccache/ccache.conf", ".lein/profiles.clj", ".conda/.condarc", ".local/share/uv/uv.toml",
}

// toolSecrets are key files in tools' own folders.
var toolSecrets = []string{
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".local/share/gem/credentials", ".composer/auth.json", ".hex/hex.config", ".hex/cache.ets",
	".local/share/uv/credentials", ".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".dotnet/corefx", ".pub-cache/credentials.json", ".julia/servers",
	".ivy2/.credentials", ".sbt/.credentials", ".sbt/1.0/credentials.sbt", ".m2/settings-security.xml", ".lein/credentials.clj", ".lein/credentials.clj.gpg",
	".local/share/jupyter/runtime/jupyter_cookie_secret", ".local/share/jupyter/notebook_secret", ".bundle/credentials", ".cache/gh", ".cache/1password", ".cache/op",
	".cache/mozilla", ".cache/google-chrome", ".cache/chromium", ".cache/BraveSoftware", ".cache/microsoft-edge", ".cache/thunderbird", ".cache/keyring",
	".cache/ksshaskpass", ".cache/gnome-keyring", ".cache/evolution", ".cache/aws", ".cache/gcloud",
}

// cache is a tool's folder. If its program is installed, commands see the folder, too.
type cache struct {
	path, program string
	// programs reports whether the folder holds programs installed by the user. Without layers,
	// only its parts are replaced.
	programs bool
	parts    []string
}

// caches are the folders of a home written by tools. If sandbox.caches is own, commands write to
// the agent's layer, so the user's programs run none of their files.
var caches = []cache{
	{path: ".cache"}, {path: "Library/Caches", program: "sw_vers"},
	{path: "go/pkg", program: "go"}, {path: "go/bin", program: "go", programs: true}, {path: ".npm", program: "npm"},
	{path: ".cargo", program: "cargo", programs: true, parts: []string{"registry", "git"}}, {path: ".rustup", program: "rustup", programs: true},
	{path: ".local/share/pnpm", program: "pnpm", programs: true, parts: []string{"store"}},
	{path: ".yarn", program: "yarn", programs: true, parts: []string{"berry"}}, {path: ".bun", program: "bun", programs: true, parts: []string{"install/cache"}},
	{path: ".deno", program: "deno", programs: true}, {path: ".local/share/uv", program: "uv", programs: true},
	{path: ".local/share/pipx", program: "pipx", programs: true}, {path: ".local/share/virtualenvs", program: "pipenv", programs: true},
	{path: ".local/share/hatch", program: "hatch", programs: true}, {path: ".local/share/jupyter", program: "jupyter", programs: true},
	{path: ".conda/pkgs", program: "conda"}, {path: ".m2/repository", program: "mvn"}, {path: ".m2/wrapper", program: "mvn"},
	{path: ".gradle", program: "gradle", programs: true, parts: []string{"caches", "wrapper", "daemon", "native", "notifications", "workers", ".tmp", "jdks"}},
	{path: ".nuget", program: "dotnet", programs: true, parts: []string{"packages"}}, {path: ".local/share/NuGet", program: "dotnet"},
	{path: ".dotnet", program: "dotnet", programs: true}, {path: ".templateengine", program: "dotnet"},
	{path: ".ccache", program: "ccache"}, {path: ".bundle/cache", program: "bundle"}, {path: ".gem", program: "gem", programs: true},
	{path: ".local/share/gem", program: "gem", programs: true}, {path: ".composer", program: "composer", programs: true, parts: []string{"cache"}},
	{path: ".hex", program: "mix", programs: true, parts: []string{"packages"}}, {path: ".mix", program: "mix", programs: true},
	{path: ".cabal", program: "cabal", programs: true, parts: []string{"packages"}}, {path: ".ghcup", program: "ghcup", programs: true},
	{path: ".stack", program: "stack", programs: true, parts: []string{"pantry"}}, {path: ".opam", program: "opam", programs: true},
	{path: ".ivy2", program: "sbt"}, {path: ".sbt", program: "sbt", programs: true}, {path: ".lein", program: "lein", programs: true},
	{path: ".julia", program: "julia", programs: true}, {path: ".pub-cache", program: "dart", programs: true}, {path: ".nimble", program: "nimble", programs: true},
	{path: ".konan", program: "kotlinc"}, {path: ".terraform.d/plugin-cache", program: "terraform"},
}

// sharedCaches are the folders of a home writable for commands if sandbox.caches is shared. They
// hold downloads and builds, and neither programs of PATH nor settings.
var sharedCaches = []cache{
	{path: ".cache"}, {path: "Library/Caches", program: "sw_vers"},
	{path: "go/pkg", program: "go"}, {path: ".npm", program: "npm"}, {path: ".cargo/registry", program: "cargo"}, {path: ".cargo/git", program: "cargo"},
	{path: ".local/share/pnpm/store", program: "pnpm"}, {path: ".yarn/berry", program: "yarn"}, {path: ".bun/install/cache", program: "bun"},
	{path: ".local/share/uv", program: "uv"}, {path: ".local/share/virtualenvs", program: "pipenv"}, {path: ".local/share/hatch", program: "hatch"},
	{path: ".conda/pkgs", program: "conda"}, {path: ".m2/repository", program: "mvn"}, {path: ".gradle/caches", program: "gradle"},
	{path: ".gradle/wrapper", program: "gradle"}, {path: ".gradle/daemon", program: "gradle"}, {path: ".gradle/native", program: "gradle"},
	{path: ".nuget/packages", program: "dotnet"}, {path: ".local/share/NuGet", program: "dotnet"}, {path: ".ccache", program: "ccache"},
	{path: ".bundle/cache", program: "bundle"}, {path: ".composer/cache", program: "composer"}, {path: ".hex/packages", program: "mix"},
	{path: ".cabal/packages", program: "cabal"}, {path: ".stack/pantry", program: "stack"},
}

// cacheVariable names a cache moved by the user: a folder in its value.
type cacheVariable struct {
	name, within string
	programs     bool
}

var cacheVariables = []cacheVariable{
	{name: "XDG_CACHE_HOME"}, {name: "GOCACHE"}, {name: "GOMODCACHE"}, {name: "GOPATH", within: "pkg"}, {name: "CARGO_HOME", within: "registry"},
	{name: "CARGO_HOME", within: "git"}, {name: "npm_config_cache"}, {name: "PIP_CACHE_DIR"}, {name: "UV_CACHE_DIR"}, {name: "GRADLE_USER_HOME", within: "caches"},
	{name: "GRADLE_USER_HOME", within: "wrapper"}, {name: "CCACHE_DIR"}, {name: "SCCACHE_DIR"}, {name: "POETRY_CACHE_DIR"}, {name: "YARN_CACHE_FOLDER"}, {name: "DENO_DIR"},
	{name: "NUGET_PACKAGES"}, {name: "RUSTUP_HOME", programs: true}, {name: "GOPATH", within: "bin", programs: true}, {name: "PNPM_HOME", programs: true}, {name: "BUN_INSTALL", programs: true},
}
