//go:build unix

package sandbox

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc/proctest"
)

// usersTests matches the tests with commands in a sandbox: the kernel lets root do more than a
// user. The other tests do not depend on the user, or start programs of the user who runs them.
const usersTests = "^(" +
	"TestHostile|TestCapabilities|TestReadOnlyMode|TestNetwork|TestDailyWork|TestCommitOutside|TestSessionsTemp|" +
	"TestPlanted|TestLayers|TestReadOnlyCaches|TestSharedCaches|TestHomeHidden|TestUnnamedSockets|TestHomeIsWorkspace|" +
	"TestGitData|TestSettingsPlaces|TestKilledBeforeReview|TestBackgroundIsBound|" +
	"TestOpening|TestConfineOwn|TestStanding|TestStandingEnds|TestKnownWrites|TestDeniedIsRestored|TestOwnTemp|TestForgedCommondir|TestHardLinks|TestHeldWhileItRuns|TestCloneIsHeldAtOnce" +
	")$"

// Root may do more than users, so tests of this package run as a user, too. Not
// beside the others, which would double the load.
func TestAsUser(t *testing.T) {
	proctest.AsUser(t, usersTests)
}
