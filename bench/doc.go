// Command bench drives the built binary over stdio, as an editor does, and prints a
// table: each figure beside a floor measured in the same run, and their ratio.
//
// The model is scripted behind a real HTTP endpoint on the loopback interface and
// takes no time to think. Absolute times belong to the machine; compare ratios.
//
//	go run ./bench -bin bin/hermes-ls
package main
