package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	built := " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	changed := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, c := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"released", &debug.BuildInfo{Main: debug.Module{Version: "v0.3.1"}}, "godwit v0.3.1"},
		{
			"working tree",
			&debug.BuildInfo{
				Main:     debug.Module{Version: "(devel)"},
				Settings: []debug.BuildSetting{commit, changed},
			}, "godwit (devel) 0123456789ab (changed)",
		},
		{"no module version", &debug.BuildInfo{}, "godwit (devel)"},
		{"no information", nil, "godwit (unknown)"},
	} {
		if got := version(c.info, c.info != nil).String(); got != c.want+built {
			t.Errorf("%s: %q, want %q", c.name, got, c.want+built)
		}
	}
}

// The build is also told to programs.
func TestVersionInJSON(t *testing.T) {
	out, _, status := call(t, "version", "-o", "json")
	var all []build
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != exitDone || len(all) != 1 ||
		all[0] != version(debug.ReadBuildInfo()) || all[0].Go != runtime.Version() {
		t.Errorf("status %d, %v: %s", status, err, out)
	}
}
