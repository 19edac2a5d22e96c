package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/models"
)

// refreshLimit is how long the user waits for the lists of models. Stored lists stand in for those that
// come later.
const refreshLimit = 5 * time.Second

// Model is a model that a session can choose.
type Model struct {
	models.Offer
	Description string
	Current     bool // it answers first
}

// Models requests the models of the configured providers, because the user opens the list of models.
// It also asks a server that runs models for the window of the session's model. It returns all models
// that the session can choose, and the providers that have failed. If the option has changed, the host
// gets it.
func (x *Session) Models(ctx context.Context) (all []Model, failed []models.ListError) {
	before, window := x.settings.offers(), x.settings.windowInUse()
	if x.svc.Model == nil {
		limited, stop := context.WithTimeout(ctx, refreshLimit)
		defer stop()
		failed = x.svc.lists.Refresh(limited, x.settings.config())
		x.settings.inspectModel(limited)
	}
	offers := x.settings.offers()
	same := func(a, b models.Offer) bool { return a.Name == b.Name && modelText(a, "") == modelText(b, "") }
	if !slices.EqualFunc(before, offers, same) || x.settings.windowInUse() != window {
		x.settingsChanged()
	}
	first := x.settings.first()
	for _, o := range offers {
		all = append(all, Model{o, x.settings.described(o, o.Name == first), o.Name == first})
	}
	return all, failed
}

// offers returns the models that the session can choose, without a request. The chosen model is among
// them.
func (s *settings) offers() []models.Offer {
	conf := s.config()
	offers := s.svc.lists.Offers(conf)
	name, _ := s.model.Choice()
	if name != "" && findOffer(offers, name) == "" && models.Serves(conf, name) {
		e := conf.Facts(name)
		offers = append([]models.Offer{{Name: name, Window: e.Window, Used: true}}, offers...)
	}
	return offers
}

// primary returns the name of the model that answers first.
func (s *settings) primary(offers []models.Offer, chosen string) string {
	configured := s.config().ModelNames()
	return cmp.Or(config.FindModel(configured, chosen), findOffer(offers, chosen), configured[0])
}

// find returns the full name of a model: a model can be named without its provider. A model that its
// provider does not list is found if the list is not known. If there is none, find returns "".
func (s *settings) find(name string) string {
	conf := s.config()
	if found := cmp.Or(config.FindModel(conf.ModelNames(), name), findOffer(s.offers(), name)); found != "" {
		return found
	}
	provider, _, _ := strings.Cut(name, "/")
	if !models.Serves(conf, name) {
		return ""
	}
	if e, err := conf.ProviderEndpoint(provider, ""); err != nil || s.svc.lists.Known(e) != nil {
		return ""
	}
	return name
}

func findOffer(offers []models.Offer, name string) string {
	names := make([]string, len(offers))
	for i, o := range offers {
		names[i] = o.Name
	}
	return config.FindModel(names, name)
}

// mostShown is how many models /model shows at once.
const mostShown = 50

// modelCommand returns /model: it lists the models, or chooses the one that is named by its id or by
// words in it.
func modelCommand() slashFunc {
	return func(ctx context.Context, x *Session, words string) (string, error) {
		if words != "" && x.settings.find(words) != "" {
			err := x.SetOption(ctx, optionModel, words)
			return fmt.Sprintf("Model: **%s**.", x.settings.first()), err
		}
		all, failed := x.Models(ctx)
		if words == "" {
			return listedModels(x.settings.first(), all, failed), nil
		}
		name := x.settings.find(words)
		fits := slices.DeleteFunc(slices.Clone(all), func(m Model) bool { return !hasWords(m.Name, words) })
		switch {
		case name == "" && len(fits) == 1:
			name = fits[0].Name
		case name == "" && len(fits) > 1:
			return fmt.Sprintf("%d models have “%s” in their names. Nothing was changed. `/model ID` chooses one:\n", len(fits), words) + modelLines(fits, len(fits)), nil
		case name == "":
			_, err := x.settings.check(optionModel, words)
			return "", fmt.Errorf("%w%s", err, failedText(failed))
		}
		err := x.SetOption(ctx, optionModel, name)
		return fmt.Sprintf("Model: **%s**.", x.settings.first()), err
	}
}

// hasWords reports whether all words are in a name.
func hasWords(name, words string) bool {
	name = strings.ToLower(name)
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(name, word) {
			return false
		}
	}
	return true
}

func listedModels(first string, all []Model, failed []models.ListError) string {
	text := fmt.Sprintf("Model: **%s**. There are:\n", first) + modelLines(all, mostShown)
	if len(all) > mostShown {
		text += fmt.Sprintf("\nThese are %d of %d. `/model WORDS` finds those with the words in their names.\n", mostShown, len(all))
	}
	return text + failedText(failed)
}

func modelLines(all []Model, most int) string {
	var b strings.Builder
	for _, m := range all[:min(len(all), most)] {
		fmt.Fprintf(&b, "- `%s` %s\n", m.Name, m.Description)
	}
	return b.String()
}

// failedText names the providers that have not listed their models.
func failedText(failed []models.ListError) string {
	var b strings.Builder
	for _, f := range failed {
		fmt.Fprintf(&b, "\n%s did not list its models: %v", f.Provider, f.Err)
	}
	return b.String()
}
