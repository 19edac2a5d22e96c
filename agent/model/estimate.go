package model

// bytesPerToken is typical for English and code.
const bytesPerToken = 4

// ImageTokens is the estimate for a picture. Endpoints count its size in pixels, not its bytes.
const ImageTokens = 1500

// TextTokens estimates the tokens of the request from its bytes, without pictures and reasoning, which some APIs
// do not get. It reads no text, so it costs little for long histories.
func (r *Request) TextTokens() int {
	bytes, _, _ := r.measure()
	return bytes / bytesPerToken
}

// Tokens estimates the tokens of the request, with pictures and reasoning.
func (r *Request) Tokens() int {
	bytes, reasoning, images := r.measure()
	return (bytes+reasoning)/bytesPerToken + images*ImageTokens
}

// measure returns the bytes of the texts, the tools and the calls, those of the reasoning, and the number
// of pictures.
func (r *Request) measure() (bytes, reasoning, images int) {
	bytes = len(r.System)
	for i := range r.Tools {
		t := &r.Tools[i]
		bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			switch p.Type {
			case ReasoningType:
				reasoning += len(p.Text)
			case CallType:
				bytes += len(p.Text) + len(p.Call.Name) + len(p.Call.Args)
			case ImageType:
				images++
			default:
				bytes += len(p.Text)
			}
		}
	}
	return bytes, reasoning, images
}
