;;; A conversation with hermes-ls through eglot, with no package of ours.  -*- lexical-binding: t -*-
(require 'eglot)
(require 'json)

(defvar workspace (getenv "HERMES_WS"))
(defvar asked nil)

(setq eglot-confirm-server-initiated-edits nil
      eglot-sync-connect 20
      make-backup-files nil
      create-lockfiles nil
      auto-save-default nil
      eglot-server-programs `(((python-mode text-mode fundamental-mode) . (,(getenv "HERMES_BIN") "serve"))))

;; A person who answers with the first choice that says "once".
(setq completing-read-function
      (lambda (prompt collection &rest _)
        (push (format "%s" prompt) asked)
        (let ((titles (mapcar (lambda (c) (if (consp c) (car c) c)) collection)))
          (setq asked (append titles asked))
          (or (seq-find (lambda (title) (string-match-p "once" title)) titles) (car titles)))))

(defun send-changes ()
  "Do what eglot's idle timer does: there is no idle time in batch mode."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (bound-and-true-p eglot--managed-mode)
        (eglot--signal-textDocument/didChange)))))

(defun wait-for (what predicate)
  (let ((end (+ (float-time) 60)))
    (while (not (funcall predicate))
      (send-changes)
      (when (> (float-time) end)
        (error "Waited in vain for %s; asked %S" what asked))
      (accept-process-output nil 0.05))))

(defun project-here (_dir) (cons 'transient workspace))
(setq project-find-functions '(project-here))

(find-file (expand-file-name "shop.py" workspace))
(goto-char (point-min))
(insert "# typed, not saved\n")
(defvar source (current-buffer))
(call-interactively #'eglot)
(wait-for "the server" #'eglot-current-server)
(defvar server (eglot-current-server))

(defun actions (uri line)
  (append (jsonrpc-request server :textDocument/codeAction
                           `(:textDocument (:uri ,uri)
                             :range (:start (:line ,line :character 0) :end (:line ,line :character 0))
                             :context (:diagnostics [])))
          nil))

(defun run-action (uri line title)
  (let* ((action (or (seq-find (lambda (a) (equal (plist-get a :title) title)) (actions uri line))
                     (error "No code action %s" title)))
         (command (if (stringp (plist-get action :command)) action (plist-get action :command))))
    (jsonrpc-request server :workspace/executeCommand
                     `(:command ,(plist-get command :command) :arguments ,(plist-get command :arguments)))))

(defvar source-uri (with-current-buffer source (eglot--path-to-uri (buffer-file-name))))
(defvar titles (mapcar (lambda (a) (plist-get a :title)) (actions source-uri 1)))

;; eglot of this age cannot show a document by itself: the result says where it is.
(defvar chat-uri (plist-get (run-action source-uri 1 "Chat with Hermes") :uri))
(find-file (eglot--uri-to-path chat-uri))
(text-mode)
(eglot-ensure)
(unless (eglot-managed-p)
  (eglot--maybe-activate-editing-mode))
(wait-for "the chat to be managed" #'eglot-managed-p)
(defvar chat (current-buffer))
(goto-char (point-max))
(insert "Please mend `total`.\n\n```hermes-script\n"
        "[{\"text\":\"Let me look. \"},{\"call\":{\"name\":\"read_file\",\"args\":{\"path\":\"shop.py\"}}}]\n"
        "[{\"call\":{\"name\":\"patch\",\"args\":{\"path\":\"shop.py\",\"old_string\":\"return a - b\",\"new_string\":\"return a + b\"}}}]\n"
        "[{\"call\":{\"name\":\"terminal\",\"args\":{\"command\":\"rm -rf build\"}}}]\n"
        "[{\"text\":\"The sum \"},{\"text\":\"is right \"},{\"text\":\"now.\"}]\n"
        "```\n")
(eglot--signal-textDocument/didChange)

(defun chat-text () (with-current-buffer chat (buffer-substring-no-properties (point-min) (point-max))))
(defun ended-p ()
  (string-suffix-p "## You" (string-trim-right (chat-text))))

(defvar lenses
  (mapcar (lambda (lens) (plist-get (plist-get lens :command) :title))
          (jsonrpc-request server :textDocument/codeLens `(:textDocument (:uri ,chat-uri)))))
(run-action chat-uri (1- (with-current-buffer chat (line-number-at-pos (point-max)))) "Send to Hermes")
(wait-for "the answer" (lambda () (and (string-match-p "right now\\." (chat-text)) (ended-p))))
(defvar conversation (chat-text))
(defvar buffer-text (with-current-buffer source (buffer-string)))
(defvar modified (buffer-modified-p source))

;; A code action's answer lands in a chat document too.
(run-action source-uri 1 "Explain")
(defun answers () (let ((n 0) (from 0) (text (chat-text)))
                    (while (string-match "^## Hermes" text from)
                      (setq n (1+ n) from (match-end 0)))
                    n))
(wait-for "the explanation" (lambda () (and (> (answers) 1) (ended-p))))

(with-temp-file (getenv "HERMES_REPORT")
  (insert (json-encode `((Actions . ,(vconcat titles)) (Lenses . ,(vconcat lenses)) (Asked . ,(vconcat asked))
                         (Chat . ,conversation)
                         (Buffer . ,(substring-no-properties buffer-text)) (Modified . ,(if modified t json-false))
                         (Explain . ,(chat-text))))))
(dolist (b (list source chat))
  (with-current-buffer b (set-buffer-modified-p nil)))
(eglot-shutdown server)
(kill-emacs 0)
