package checkpoint

func victim(string) {}
