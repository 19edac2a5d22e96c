package sandbox

type sweeper struct{}

func startSweeper(string) *sweeper { return nil }
func (s *sweeper) stop()           {}
