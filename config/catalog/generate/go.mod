module github.com/hermes-ls/hermes-ls/config/catalog/generate

go 1.26.0

require charm.land/catwalk v0.40.0

require github.com/charmbracelet/x/etag v0.2.0 // indirect
