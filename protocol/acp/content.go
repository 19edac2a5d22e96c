package acp

import "encoding/json"

// Kinds of content blocks.
const (
	ContentText         = "text"
	ContentImage        = "image"
	ContentAudio        = "audio"
	ContentResourceLink = "resource_link"
	ContentResource     = "resource"
)

// ContentBlock is one piece of a prompt, a message, or a tool call's output. Type
// says which fields count.
type ContentBlock struct {
	Type        string            `json:"type"`
	Text        string            `json:"text,omitempty"`        // text
	Data        string            `json:"data,omitempty"`        // image, audio: base64
	MIMEType    string            `json:"mimeType,omitempty"`    // image, audio; resource_link: optional
	URI         string            `json:"uri,omitempty"`         // resource_link; image: optional
	Name        string            `json:"name,omitempty"`        // resource_link
	Title       string            `json:"title,omitempty"`       // resource_link, optional
	Description string            `json:"description,omitempty"` // resource_link, optional
	Size        int64             `json:"size,omitempty"`        // resource_link, bytes; 0: unknown
	Resource    *ResourceContents `json:"resource,omitempty"`    // resource
	Annotations *Annotations      `json:"annotations,omitempty"`
}

// MarshalJSON writes the required field of a text even when it is empty.
func (b ContentBlock) MarshalJSON() ([]byte, error) {
	type plain ContentBlock
	if b.Type != ContentText {
		return json.Marshal(plain(b))
	}
	return json.Marshal(struct {
		Type        string       `json:"type"`
		Text        string       `json:"text"`
		Annotations *Annotations `json:"annotations,omitempty"`
	}{b.Type, b.Text, b.Annotations})
}

// ResourceContents is an embedded resource: text, or base64 in Blob.
type ResourceContents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"`
}

type Annotations struct {
	Audience     []string `json:"audience,omitempty"`
	LastModified string   `json:"lastModified,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`
}

// Text makes a text block.
func Text(s string) ContentBlock { return ContentBlock{Type: ContentText, Text: s} }
