package model

import "context"

// The interfaces of this file are optional methods of a [Model]. If a model implements [Wrapper] and not the method, the
// functions of this file call the method of the inner model.

// Sized is a model with a known context window.
type Sized interface {
	// Window returns the context window in tokens. If it is not known, it returns 0. It makes no request.
	Window() int
}

// Prepares is a model with a way to ask its endpoint for the context window.
type Prepares interface {
	// Prepare asks for the context window, if it is not known.
	Prepare(ctx context.Context)
}

// Sees is a model that may know whether it accepts pictures. Asking may request the endpoint's
// metadata, once.
type Sees interface {
	// Sees reports whether pictures can be sent. If this is not known, it returns true.
	Sees(ctx context.Context) bool
}

// KnownToSee is a [Sees] that distinguishes a known answer from an assumed answer.
type KnownToSee interface {
	// KnownToSee reports whether the model is known to accept pictures.
	KnownToSee(ctx context.Context) bool
}

// Price is the price of a model in US dollars per million tokens. CacheRead is 0 if it costs as much as Input.
type Price struct{ Input, Output, CacheRead float64 }

// Priced is a model that may know its price.
type Priced interface {
	// Price returns the price. If it is not known, it returns false. It makes no request.
	Price() (Price, bool)
}

// Wrapper is a [Model] around another model.
type Wrapper interface{ Unwrap() Model }

// WindowOf returns the context window of a model in tokens. If it is not known, it returns 0.
func WindowOf(m Model) int {
	if sized, ok := as[Sized](m); ok {
		return sized.Window()
	}
	return 0
}

// Prepare asks the endpoint of a model for the context window, if it is not known.
func Prepare(ctx context.Context, m Model) {
	if p, ok := as[Prepares](m); ok {
		p.Prepare(ctx)
	}
}

// CanSee reports whether pictures can be sent to a model. If the model implements no [Sees],
// CanSee returns otherwise.
func CanSee(ctx context.Context, m Model, otherwise bool) bool {
	if seeing, ok := as[Sees](m); ok {
		return seeing.Sees(ctx)
	}
	return otherwise
}

// SurelySees reports whether a model is known to accept pictures.
func SurelySees(ctx context.Context, m Model) bool {
	known, ok := as[KnownToSee](m)
	return ok && known.KnownToSee(ctx)
}

// PriceOf returns the price of a model. If it is not known, it returns false.
func PriceOf(m Model) (Price, bool) {
	if priced, ok := as[Priced](m); ok {
		return priced.Price()
	}
	return Price{}, false
}

// as returns m, or the nearest model in it, as a T. If there is none, it returns false.
func as[T any](m Model) (found T, ok bool) {
	for m != nil {
		if found, ok = m.(T); ok {
			return found, true
		}
		w, wraps := m.(Wrapper)
		if !wraps {
			break
		}
		m = w.Unwrap()
	}
	return found, false
}
