;;; eglot as docs/emacs.md has it.  -*- lexical-binding: t -*-
(load (expand-file-name "common.el" (file-name-directory load-file-name)))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               `((python-mode go-mode js-mode markdown-mode text-mode) . (,(getenv "HERMES_BIN") "serve"))))
(setq eglot-confirm-server-initiated-edits nil) ; let answers stream into the chat
(add-hook 'python-mode-hook #'eglot-ensure)
(add-hook 'markdown-mode-hook #'eglot-ensure)
