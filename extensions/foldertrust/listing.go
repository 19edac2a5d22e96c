package foldertrust

import "context"

// entries lists the contents of the workspace folders, and reports whether the user trusts all of
// them.
func (x *Instance) entries(ctx context.Context) (map[string]any, error) {
	offers, trusted := []Offer{}, true
	for _, folder := range x.local() {
		o, err := Look(ctx, x.store(), folder)
		if err != nil {
			return nil, err
		}
		if trusted = trusted && o.Trusted; !o.Empty() {
			offers = append(offers, o)
		}
	}
	return map[string]any{"offered": offers, "trusted": trusted && len(x.local()) > 0}, nil
}
