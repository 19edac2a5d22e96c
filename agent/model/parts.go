package model

import (
	"encoding/json"
	"strings"
)

// Message is an entry of the history. It is immutable.
type Message struct {
	Role  Role
	Parts []Part
	// Sent is the form of the images for each endpoint and model, by [PictureForms].To. A
	// missing form is not decided yet.
	Sent map[string]PictureForm
	// Described holds the description of each image, in their order, once a model was asked for
	// them. A description without text could not be made.
	Described []Description
}

// Description is a text to replace an image for a model that does not accept images.
type Description struct {
	By   string `json:"by"` // the model of the description
	Text string `json:"text"`
}

// Part is a piece of a message. Its Type decides which other fields are set.
type Part struct {
	Type  PartType
	Text  string // text, reasoning, result
	Call  Call   // call; of a result, the ID and Name of its call
	Image Image  // image, file
	// State is opaque data of the part's API. It is sent back only to its origin, byte for
	// byte, in the place of the part. It may be nil.
	State *State
}

// PartType is the kind of a [Part].
type PartType string

const (
	TextType      PartType = "text"
	ReasoningType PartType = "reasoning" // shown, and sent back only if required by the API
	ImageType     PartType = "image"
	FileType      PartType = "file"
	CallType      PartType = "call"
	ResultType    PartType = "result" // images and files after it belong to the result
)

// State is opaque data of an API, such as a signature or encrypted reasoning.
type State struct {
	API  string `json:"api"`  // of which API, such as "messages"
	Host string `json:"host"` // of which host
	Data []byte `json:"data"`
}

// Lasting returns the part of a state to keep when the state is no longer sent: the id given to
// a call by Gemini. Without it, a call and its result would differ from earlier requests. If
// there is none, it returns nil.
func (s *State) Lasting() *State {
	var kept struct {
		ID string `json:"id"`
	}
	if s == nil || s.API != "gemini" || json.Unmarshal(s.Data, &kept) != nil || kept.ID == "" {
		return nil
	}
	data, err := json.Marshal(kept)
	if err != nil { // a string can always be encoded
		panic(err)
	}
	return &State{API: s.API, Host: s.Host, Data: data}
}

// Item returns the id of an output item of the Responses API, or "".
func (s *State) Item() string {
	var item struct {
		ID string `json:"id"`
	}
	if s == nil || s.API != "responses" || json.Unmarshal(s.Data, &item) != nil {
		return ""
	}
	return "item " + item.ID
}

// Origin is the source of state.
type Origin struct {
	API  string `json:"api"`
	Host string `json:"host"`
}

// TextPart returns a part with text.
func TextPart(text string) Part { return Part{Type: TextType, Text: text} }

// ReasoningPart returns a part with reasoning.
func ReasoningPart(text string) Part { return Part{Type: ReasoningType, Text: text} }

// CallPart returns a part with a tool call.
func CallPart(c Call) Part { return Part{Type: CallType, Call: c} }

// ImagePart returns a part with a picture.
func ImagePart(i Image) Part { return Part{Type: ImageType, Image: i} }

// ImageParts returns a part for each picture.
func ImageParts(images ...Image) []Part {
	parts := make([]Part, len(images))
	for n, i := range images {
		parts[n] = ImagePart(i)
	}
	return parts
}

// NewMessage returns a message with a text, unless it is empty, and more parts.
func NewMessage(role Role, text string, more ...Part) Message {
	m := Message{Role: role}
	if text != "" {
		m.Parts = append(m.Parts, TextPart(text))
	}
	m.Parts = append(m.Parts, more...)
	return m
}

// ResponseMessage returns a message of the assistant: its reasoning and text, if they are
// not empty, and its calls.
func ResponseMessage(reasoning, text string, calls ...Call) Message {
	m := Message{Role: Assistant}
	if reasoning != "" {
		m.Parts = append(m.Parts, ReasoningPart(reasoning))
	}
	if text != "" {
		m.Parts = append(m.Parts, TextPart(text))
	}
	for _, c := range calls {
		m.Parts = append(m.Parts, CallPart(c))
	}
	return m
}

// ResultMessage returns a message with the result of a call.
func ResultMessage(callID, name, text string, images ...Image) Message {
	result := Part{Type: ResultType, Text: text, Call: Call{ID: callID, Name: name}}
	return Message{Role: ToolRole, Parts: append([]Part{result}, ImageParts(images...)...)}
}

// Text returns the text of the message: its text and result parts, joined.
func (m Message) Text() string { return m.joined(TextType, ResultType) }

// Reasoning returns the reasoning parts, joined.
func (m Message) Reasoning() string { return m.joined(ReasoningType, ReasoningType) }

func (m Message) joined(a, b PartType) string {
	first := ""
	for i, p := range m.Parts {
		if p.Type != a && p.Type != b || p.Text == "" {
			continue
		}
		if first != "" {
			return joinAll(m.Parts, a, b)
		}
		first = m.Parts[i].Text
	}
	return first
}

func joinAll(parts []Part, a, b PartType) string {
	var all strings.Builder
	for _, p := range parts {
		if p.Type == a || p.Type == b {
			all.WriteString(p.Text)
		}
	}
	return all.String()
}

// Calls returns the tool calls in their order.
func (m Message) Calls() (calls []Call) {
	for _, p := range m.Parts {
		if p.Type == CallType {
			calls = append(calls, p.Call)
		}
	}
	return calls
}

// Images returns the pictures in their order.
func (m Message) Images() (images []Image) {
	for _, p := range m.Parts {
		if p.Type == ImageType {
			images = append(images, p.Image)
		}
	}
	return images
}

// Has reports whether the message contains a part of the type.
func (m Message) Has(t PartType) bool {
	for i := range m.Parts {
		if m.Parts[i].Type == t {
			return true
		}
	}
	return false
}

// CallID returns the id of the call answered by the message. If it contains no result, CallID
// returns "".
func (m Message) CallID() string { return m.answered().ID }

// Name returns the tool name of the result in the message.
func (m Message) Name() string { return m.answered().Name }

func (m Message) answered() Call {
	for i := range m.Parts {
		if m.Parts[i].Type == ResultType {
			return m.Parts[i].Call
		}
	}
	return Call{}
}
