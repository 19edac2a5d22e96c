class HermesLs < Formula
  desc "Coding agent that your editor hosts like a language server"
  homepage "https://github.com/hermes-ls/hermes-ls"
  version "{{.Version}}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{.URL "darwin_arm64"}}"
      sha256 "{{.Sum "darwin_arm64"}}"
    end
    on_intel do
      url "{{.URL "darwin_amd64"}}"
      sha256 "{{.Sum "darwin_amd64"}}"
    end
  end

  on_linux do
    on_arm do
      url "{{.URL "linux_arm64"}}"
      sha256 "{{.Sum "linux_arm64"}}"
    end
    on_intel do
      url "{{.URL "linux_amd64"}}"
      sha256 "{{.Sum "linux_amd64"}}"
    end
  end

  def install
    bin.install "hermes-ls"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/hermes-ls.bash" => "hermes-ls"
    zsh_completion.install "completions/hermes-ls.zsh" => "_hermes-ls"
    fish_completion.install "completions/hermes-ls.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/hermes-ls version")
  end
end
