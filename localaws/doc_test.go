package localaws

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/rest"
)

// TestTheDocumentListsEveryActionAndParameter: docs/localaws.md is the reference for users.
func TestTheDocumentListsEveryActionAndParameter(t *testing.T) {
	page, err := os.ReadFile("../docs/localaws.md")
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	check := func(service, action string, members []string) {
		line := regexp.MustCompile("(?m)^\\| `"+action+"` \\|.*$").FindAllString(string(page), -1)
		if len(line) == 0 {
			t.Errorf("%s of %s is not listed", action, service)
		}
		for _, member := range members {
			word := regexp.MustCompile(`\b` + member + `\b`)
			if !strings.Contains(member, ".") && !word.MatchString(strings.Join(line, " ")) {
				t.Errorf("%s of %s does not list %s", action, service, member)
			}
		}
	}
	for _, service := range server.wired(random.New(1)) {
		for _, action := range service.Actions {
			check(service.Name, action.Name, action.Members())
		}
	}
	for _, service := range []*rest.Service{server.S3().Wire(), server.S3().Control()} {
		for _, action := range service.Actions {
			check(service.Name, action.Name, action.Members())
		}
	}
}
