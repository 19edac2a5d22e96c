package hostile

func unixThings() []Thing { return nil }
