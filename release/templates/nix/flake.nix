{
  description = "Coding agent that your editor hosts like a language server";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      archives = {
{{- range $target, $platform := .Nix}}
        {{$target}} = { url = "{{$.URL $platform}}"; sha256 = "{{$.Sum $platform}}"; };
{{- end}}
      };
    in {
      packages = builtins.mapAttrs (system: archive:
        let pkgs = nixpkgs.legacyPackages.${system};
        in rec {
          hermes-ls = pkgs.stdenvNoCC.mkDerivation {
            pname = "hermes-ls";
            version = "{{.Version}}";
            src = pkgs.fetchurl archive;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            installPhase = ''
              install -Dm755 hermes-ls $out/bin/hermes-ls
              installManPage man/*.1
              installShellCompletion --bash --name hermes-ls completions/hermes-ls.bash
              installShellCompletion --zsh --name _hermes-ls completions/hermes-ls.zsh
              installShellCompletion --fish completions/hermes-ls.fish
            '';
            meta = {
              homepage = "https://github.com/hermes-ls/hermes-ls";
              license = pkgs.lib.licenses.asl20;
              mainProgram = "hermes-ls";
            };
          };
          default = hermes-ls;
        }) archives;
    };
}
