package vision

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

//go:embed look.md
var instructions string

type input struct {
	ImageURL string `json:"image_url"`
	Question string `json:"question"`
}

// seen is the result if the model gets the picture.
type seen struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Note   string `json:"note"`
}

// analyzed is the result if another model answers.
type analyzed struct {
	Analysis string `json:"analysis"`
	Model    string `json:"model"`
}

// order places the tool behind the web tools.
const order = -20

func (x *instance) tool() tools.Tool {
	return tools.New(tools.Tool{
		Name: "vision_analyze", Toolset: Toolset, Order: order, Kind: tools.KindRead, ReadOnly: true,
		Description: "Look at a picture: path, address or data URL.",
		Title:       tools.Titled(title),
	}, x.run)
}

func title(in input) string {
	if strings.HasPrefix(in.ImageURL, "data:") {
		return "Look at a picture"
	}
	return "Look at " + in.ImageURL
}

func (x *instance) run(ctx context.Context, env *tools.Env, call tools.Call, in input) (tools.Result, error) {
	if strings.TrimSpace(in.ImageURL) == "" {
		return tools.Fail("image_url is empty; give a path, an address or a data URL"), nil
	}
	name, data, place, err := x.read(ctx, env, call, in)
	if err != nil {
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		return tools.Fail("%v", err), nil
	}
	fitted, err := x.bounds.Pictures.Fit(ctx, name, data)
	if err != nil {
		return tools.Result{}, err
	}
	r, err := x.result(ctx, env, fitted, in.Question)
	if err != nil {
		return tools.Result{}, err
	}
	if place != "" {
		r = r.With(tools.Content{Location: &tools.Location{Path: place}})
	}
	return r, nil
}

// result gives the model the picture, or a description from the vision model.
func (x *instance) result(ctx context.Context, env *tools.Env, fitted tools.Image, question string) (tools.Result, error) {
	if env.Reader.Sees != nil && env.Reader.Sees() {
		r := tools.OK(seen{fitted.Width, fitted.Height, "the picture follows"})
		r.Images = []tools.Image{fitted}
		return r, nil
	}
	d, asked, err := x.models.Look(ctx, model.Image{
		Name: fitted.Name, MIMEType: fitted.MIMEType, Data: base64.StdEncoding.EncodeToString(fitted.Data),
	}, instructions, question)
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, ctx.Err()
	case !asked:
		return tools.Fail("this model does not see pictures. The user can set auxiliary.vision to a model that does"), nil
	case err != nil:
		return tools.Fail("the picture was not analyzed: %v", err), nil
	}
	return tools.OK(analyzed{d.Text, d.By}), nil
}

// read returns the bytes of a picture and a name for it. If it is a file, place is its path.
func (x *instance) read(ctx context.Context, env *tools.Env, call tools.Call, in input) (name string, data []byte, place string, err error) {
	from := in.ImageURL
	scheme, rest, _ := strings.Cut(from, ":")
	switch strings.ToLower(scheme) {
	case "data":
		data, err = dataOf(rest)
		return "the picture", data, "", err
	case "http", "https":
		if err := mayFetch(env); err != nil {
			return "", nil, "", err
		}
		if data, err = x.fetch(ctx, from); err != nil {
			return "", nil, "", fmt.Errorf("%s was not read: %w", tools.OneLine(from, 300), err)
		}
		return nameOf(from), data, "", nil
	}
	if err := gate.CheckRead(ctx, env, x.bounds, call, tools.KindRead, title(in), from); err != nil {
		return "", nil, "", err
	}
	data, place, err = file.ReadPicture(ctx, x.bounds, env, from)
	return from, data, place, err
}

// mayFetch returns an error if the session's mode or configuration keeps the model from the web.
func mayFetch(env *tools.Env) error {
	if env.Planning {
		return tools.Rejected("uses the network")
	}
	if list := env.Dispatch.List(); !slices.ContainsFunc(list, func(t tools.Tool) bool { return t.Network }) {
		return errors.New("addresses are not read in this session, because its web tools are off")
	}
	return nil
}

// nameOf returns the last part of an address.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the picture"
	}
	if base := path.Base(u.Path); base != "." && base != "/" {
		return base
	}
	return u.Host
}

// maxData is the most base64 of a data URL, in bytes: 64 MB of a picture.
const maxData = 64 << 20 / 3 * 4

// dataOf returns the content of a data URL, given without its scheme.
func dataOf(rest string) ([]byte, error) {
	kind, text, ok := strings.Cut(rest, ",")
	if !ok || !strings.HasSuffix(kind, ";base64") {
		return nil, errors.New("the data URL is not base64: it begins with data:image/png;base64,")
	}
	if len(text) > maxData {
		return nil, errors.New("the data URL is too large: the limit is 64 MB")
	}
	if unescaped, err := url.PathUnescape(text); err == nil {
		text = unescaped
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, fmt.Errorf("the data URL is not base64: %w", err)
	}
	return data, nil
}
