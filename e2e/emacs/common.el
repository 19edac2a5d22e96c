;;; What every Emacs of the tests has: nothing that gets in the way.  -*- lexical-binding: t -*-
(setq native-comp-deferred-compilation nil) ; its warnings open a window
(require 'package)
(add-to-list 'package-directory-list "/usr/share/emacs/site-lisp/elpa") ; Debian's packages
(package-initialize)
(setq inhibit-startup-screen t
      make-backup-files nil
      create-lockfiles nil
      auto-save-default nil
      ring-bell-function #'ignore
      confirm-kill-processes nil
      native-comp-async-report-warnings-errors nil)
