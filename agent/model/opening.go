package model

import (
	"bytes"
	"strings"
)

// openings are the first words of thoughts, in lower case. Answers begin with few of them. "*"
// stands for an entry of thinkers.
var openings = func() []string {
	var all []string
	for _, text := range []string{
		"*the user ", "*the user's ", "*i need to ", "*we need to ", "*i have to ", "*we have to ", "*let me think", "*let me see", "*let me start by ", "*let me analy",
		"*let me break ", "*let me figure ", "*let me understand", "*let me recall", "*let's think", "*let's see", "*let's analy", "*let's break ", "*i'm trying to ", "*i am trying to ",
		"*i should ", "*we should ", "*we are given", "*we're given", "*we are asked", "*i'm asked", "*i am asked", "*i've been asked", "*i have been asked", "*i want to ",
		"*the question ", "*the task is ", "*this is a ", "*looking at the ", "*user wants", "*user asks", "*user asked", "*user says", "*user is ", "*the human ",
		"hmm", "hm,", "wait, ", "thinking process", "thinking:", "thought:", "here's a thinking process", "here is a thinking process", "we need ", "user:",
	} {
		rest, open := strings.CutPrefix(text, "*")
		if !open {
			all = append(all, text)
			continue
		}
		for _, word := range thinkers {
			all = append(all, word+rest)
		}
	}
	return all
}()

// thinkers are words before the start of a thought.
var thinkers = []string{"okay, so ", "okay so ", "okay, ", "okay. ", "ok, so ", "ok, ", "alright, so ", "alright, ", "so, ", "so ", "well, ", "now, ", "first, ", "got it, ", "got it. ", "right, "}

// plainOpenings need no word before them.
var plainOpenings = []string{
	"the user wants", "the user asks", "the user asked", "the user is ", "the user has ", "the user just ", "the user said", "the user says", "the user would like", "the user greet",
	"the user sent", "the user's request", "the user's question", "the user's message", "let me think", "let's think", "we need to ", "we have to ", "we are given", "we are asked",
	"i need to figure", "i need to think", "i should think",
}

// longestOpening limits the bytes of a response held until it is clear whether they are a
// thought.
const longestOpening = 40

// soundsLikeThought reports whether the start of a response sounds like a thought. If it needs
// more text, heard is false.
func soundsLikeThought(text []byte) (heard, thought bool) {
	text = bytes.TrimLeft(text, " \t\r\n*_")
	if len(text) == 0 {
		return false, false
	}
	start := strings.ToValidUTF8(string(text[:min(len(text), longestOpening)]), "") // the rest of a letter follows
	start = strings.ReplaceAll(strings.ToLower(start), "’", "'")
	for _, list := range [][]string{openings, plainOpenings} {
		for _, words := range list {
			if strings.HasPrefix(start, words) {
				return true, true
			}
		}
	}
	for _, list := range [][]string{openings, plainOpenings} {
		for _, words := range list {
			if strings.HasPrefix(words, start) {
				return false, false
			}
		}
	}
	return true, false
}
