package house

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/godwitmq/godwit"

// The repository follows the plan.
func TestTheHouse(t *testing.T) {
	sources, err := inspect(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range judge(plan, statics, sources) {
		t.Error(complaint)
	}
}

// judge compares the packages with the plan and returns the differences, each with what to do about it.
func judge(plan []room, statics map[string]string, sources []*source) []string {
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	rooms := map[string]room{}
	for _, r := range plan {
		if _, twice := rooms[r.path]; twice {
			complain("plan lists %s twice: keep one line", r.path)
		}
		rooms[r.path] = r
	}
	unseen := map[string]bool{}
	for name := range statics {
		unseen[name] = true
	}
	for _, s := range sources {
		r, listed := rooms[s.path]
		if !listed {
			complain("package %s is not in the plan: add its line to internal/house/plan_test.go with what it may "+
				"import, or put the code where it belongs", s.path)
			continue
		}
		delete(rooms, s.path)
		wrong = append(wrong, r.inspect(s, plan)...)
		for name, file := range s.state {
			key := s.path + "." + name
			delete(unseen, key)
			if statics[key] == "" {
				complain("%s: variable %s is package-level state: give it an owner, or explain it in statics of "+
					"internal/house/plan_test.go", file, name)
			}
		}
	}
	for path := range rooms {
		complain("plan lists %s, which has no Go file: remove its line from internal/house/plan_test.go", path)
	}
	for name := range unseen {
		complain("statics explains %s, which is not there: remove its line from internal/house/plan_test.go", name)
	}
	slices.Sort(wrong)
	return wrong
}

// inspect checks one package against its room.
func (r room) inspect(s *source, plan []room) []string {
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if !s.hasDoc {
		complain("package %s has no doc.go with a package comment: write one that begins with its nouns", s.path)
	}
	if r.tests && len(s.code) > 0 {
		complain("%s: %s is a package of tests alone and may hold only _test.go files and doc.go", s.code[0], s.path)
	}
	for _, file := range s.inits {
		complain("%s: func init() runs before anybody asked: make it a constructor", file)
	}
	for imported, file := range s.imports {
		if why := r.refuse(imported, plan); why != "" {
			complain("%s: %s may not import %s: %s", file, s.path, imported, why)
		}
	}
	return wrong
}

// refuse returns why a room may not import a package; "": it may.
func (r room) refuse(imported string, plan []room) string {
	if ours, ok := inside(imported); ok {
		if slices.ContainsFunc(plan, func(o room) bool { return o.tests && o.path == ours }) {
			return "it is a package of tests alone"
		}
		if !slices.ContainsFunc(r.ours, func(p string) bool { return covers(p, ours) }) {
			return "the plan has no such direction (internal/house/plan_test.go); turn the dependency round or pass " +
				"the thing in"
		}
		return ""
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") { // the standard library
		return ""
	}
	if !slices.ContainsFunc(r.others,
		func(m string) bool { return imported == m || strings.HasPrefix(imported, m+"/") }) {
		return "its room does not list this module (internal/house/plan_test.go); a new dependency is a decision"
	}
	return ""
}

// inside returns the room of an import path, if it belongs to this module.
func inside(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// covers reports whether a pattern matches a room: "a/..." matches a and everything below it, "..." everything.
func covers(pattern, room string) bool {
	if pattern == "..." {
		return true
	}
	if top, ok := strings.CutSuffix(pattern, "/..."); ok {
		return room == top || strings.HasPrefix(room, top+"/")
	}
	return pattern == room
}
