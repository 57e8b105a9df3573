package house

import (
	"os/exec"
	"strings"
	"testing"
)

// What only some users need stays out of the build of all others: protocol buffers, and the client of schema
// registries.
func TestDependenciesStayApart(t *testing.T) {
	apart := []string{protobuf, franz + "/sr"}
	for _, of := range []struct {
		rooms string
		built []string // the dependencies that the rooms build; nil: none of them
	}{
		{"./godwitproto", apart[:1]},
		{"./schemaregistry", apart[1:]},
		{". ./driver/... ./snssqs ./kafka ./s3store ./local/... ./localaws", nil},
		{"./ops ./godwittest ./godwitlambda ./cloudevents", nil},
	} {
		args := append([]string{"list", "-deps"}, strings.Fields(of.rooms)...)
		list := exec.CommandContext(t.Context(), "go", args...)
		list.Dir = "../.."
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%v: %v", list, err)
		}
		built := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			for _, module := range apart {
				if line = strings.TrimSpace(line); line == module || strings.HasPrefix(line, module+"/") {
					built[module] = true
				}
			}
		}
		for _, module := range of.built {
			if !built[module] {
				t.Errorf("%s does not build %s: the test finds nothing", of.rooms, module)
			}
			delete(built, module)
		}
		for module := range built {
			t.Errorf("one of %s builds %s, which only its own package may need", of.rooms, module)
		}
	}
}

// The engine of localaws/disk is only in programs that keep something. The command is one: otherwise the test would
// find nothing.
func TestInMemoryLinksNoDisk(t *testing.T) {
	const disk = "github.com/godwitmq/godwit/localaws/disk\n"
	for rooms, want := range map[string]bool{"./localaws ./local ./snssqs ./godwittest": false, "./cmd/godwit": true} {
		list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, strings.Fields(rooms)...)...)
		list.Dir = "../.."
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%v: %v", list, err)
		}
		if got := strings.Contains(string(out), disk); got != want {
			t.Errorf("%s links localaws/disk: %v, want %v", rooms, got, want)
		}
	}
}
