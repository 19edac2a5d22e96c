;;; lsp-mode as docs/emacs.md has it.  -*- lexical-binding: t -*-
(load (expand-file-name "common.el" (file-name-directory load-file-name)))
(setq lsp-auto-guess-root t ; asks nothing about the project
      lsp-auto-execute-action nil) ; the menu comes with one entry too

(with-eval-after-load 'lsp-mode
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection (list (getenv "HERMES_BIN") "serve"))
                    :activation-fn (lambda (&rest _) t)
                    :add-on? t ; beside the language's own server
                    :server-id 'hermes)))
(add-hook 'python-mode-hook #'lsp)
(add-hook 'markdown-mode-hook #'lsp)
