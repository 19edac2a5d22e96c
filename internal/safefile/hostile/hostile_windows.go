package hostile

func unixObstacles() []Obstacle { return nil }
