package login

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/oauth2"
)

// beginDevice starts the device flow. The user opens the address on any device and enters the
// code there.
func (a *Attempt) beginDevice(ctx context.Context) error {
	if a.found.device == "" {
		return fmt.Errorf("the authorization server %s has no device flow. Log in with a browser", a.found.issuer)
	}
	u, err := url.Parse(a.found.device)
	if err != nil {
		return err
	}
	if err := secure(u); err != nil {
		return err
	}
	c := a.config()
	c.RedirectURL = ""
	options := []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("resource", a.found.resource)}
	if a.client.Secret != "" {
		options = append(options, oauth2.SetAuthURLParam("client_secret", a.client.Secret))
	}
	if a.device, err = c.DeviceAuth(context.WithValue(ctx, oauth2.HTTPClient, a.target.client()), options...); err != nil {
		return fmt.Errorf("starting the device flow: %w", err)
	}
	if a.listener != nil {
		a.listener.Close()
		a.Port = 0
	}
	a.Address, a.Code = a.device.VerificationURI, a.device.UserCode
	if a.device.VerificationURIComplete != "" {
		a.Address = a.device.VerificationURIComplete
	}
	if !a.device.Expiry.IsZero() && a.device.Expiry.Before(a.Ends) {
		a.Ends = a.device.Expiry
	}
	return nil
}

// pollDevice asks for the tokens until the user has answered.
func (a *Attempt) pollDevice(ctx context.Context, form url.Values) error {
	form.Set("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
	form.Set("device_code", a.device.DeviceCode)
	pause := time.Duration(max(a.device.Interval, 1)) * time.Second
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-a.done:
			return errors.New("the login was given up")
		}
		err := a.finish(ctx, form)
		var refused *refusal
		if !errors.As(err, &refused) {
			return err
		}
		switch refused.Code {
		case "authorization_pending":
		case "slow_down":
			pause += 5 * time.Second
		default:
			return err
		}
	}
}
