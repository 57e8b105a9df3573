// Command licences writes a bill of materials of the module, as CycloneDX 1.6 in JSON: each module whose packages the
// module's own packages link on any of the systems that it supports, with its version, its checksum of go.sum and its
// licence. It fails if a module has a licence that the list of allowed ones does not name.
//
//	go run ./licences -dir .. -allow ../.ci/licences.allow -out ../dist/sbom.json
//
// The output depends on go.mod, go.sum and the code alone, so that two runs of one commit are the same.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// systems are those for which packages may differ.
var systems = []string{"linux", "darwin", "windows"}

func main() {
	dir := flag.String("dir", ".", "the folder of the module")
	allow := flag.String("allow", "", "the file of allowed licences: an SPDX id a line, or a module and its SPDX id")
	out := flag.String("out", "", "where the bill of materials is written")
	flag.Parse()
	if err := run(*dir, *allow, *out); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(dir, allow, out string) error {
	allowed, err := readAllowed(allow)
	if err != nil {
		return err
	}
	all, err := linked(dir)
	if err != nil {
		return err
	}
	var refused []string
	bill := newBill()
	for _, m := range all {
		id, file, err := licenceOf(m.Dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		switch {
		case id == "" && allowed.modules[m.Path] != "":
			id = allowed.modules[m.Path]
		case id == "":
			refused = append(refused, fmt.Sprintf("%s %s: the licence in %q is none of those that this program knows: read "+
				"it, and add a line with the module and its SPDX id to %s", m.Path, m.Version, file, allow))
		case !allowed.ids[id]:
			refused = append(refused, fmt.Sprintf("%s %s has the licence %s, which %s does not allow: ask before you add it, "+
				"or do without the module", m.Path, m.Version, id, allow))
		}
		bill.add(m, id)
		fmt.Printf("%-14s %s %s\n", id, m.Path, m.Version)
	}
	if len(refused) > 0 {
		return fmt.Errorf("%s", strings.Join(refused, "\n"))
	}
	text, err := json.MarshalIndent(bill, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	fmt.Printf("%d modules; the bill of materials is %s\n", len(all), out)
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

// allowed are licences that any module may have, and those of modules whose texts are not recognized.
type allowed struct {
	ids     map[string]bool
	modules map[string]string
}

func readAllowed(name string) (allowed, error) {
	a := allowed{map[string]bool{}, map[string]string{}}
	text, err := os.ReadFile(name)
	if err != nil {
		return a, err
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		switch fields := strings.Fields(line); len(fields) {
		case 0:
		case 1:
			a.ids[fields[0]] = true
		case 2:
			a.modules[fields[0]] = fields[1]
		default:
			line = strings.TrimSpace(line)
			return a, fmt.Errorf("%s: %q is neither an SPDX id nor a module and its SPDX id", name, line)
		}
	}
	return a, nil
}

type module struct {
	Path, Version, Dir, Sum string
	Main                    bool
	Replace                 *module
}

// linked lists the modules of all packages that the module's packages import, without those of its tests.
func linked(dir string) ([]module, error) {
	by := map[string]module{}
	for _, system := range systems {
		cmd := exec.Command("go", "list", "-deps", "-json=Module", "./...")
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		text, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
			var p struct{ Module *module }
			if err := d.Decode(&p); err != nil {
				return nil, err
			}
			if p.Module != nil && !p.Module.Main { // otherwise it is ours, or of the standard library
				by[p.Module.Path] = *p.Module
			}
		}
	}
	var all []module
	for _, m := range by {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced, so its users would get another one: remove the replacement", m.Path)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// marks are texts of licences. The first whose phrases a text all has is its licence.
var marks = []struct {
	id      string
	phrases []string
}{
	{"MPL-2.0", []string{"mozilla public license", "version 2.0"}},
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{"ISC", []string{"permission to use, copy, modify, and distribute this software for any purpose"}},
	{"MIT", []string{"permission is hereby granted, free of charge", "the above copyright notice and this permission"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "names of its contributors"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
}

// licenceOf recognizes the licence in a module's folder. "": it is not known.
func licenceOf(dir string) (id, file string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", "", err
	}
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "licen") && !strings.HasPrefix(name, "copying") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", "", err
		}
		folded := strings.ToLower(strings.Join(strings.Fields(string(text)), " "))
		for _, mark := range marks {
			missing := func(phrase string) bool { return !strings.Contains(folded, phrase) }
			if !slices.ContainsFunc(mark.phrases, missing) {
				return mark.id, e.Name(), nil
			}
		}
		file = e.Name()
	}
	return "", file, nil
}

// bill is a bill of materials as CycloneDX defines it.
type bill struct {
	Format     string      `json:"bomFormat"`
	Version    string      `json:"specVersion"`
	Revision   int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref"`
	Name     string    `json:"name"`
	Version  string    `json:"version,omitempty"`
	URL      string    `json:"purl"`
	Licences []licence `json:"licenses,omitempty"`
	// Properties has the checksum of go.sum, which is no plain hash of a file.
	Properties []property `json:"properties,omitempty"`
}

type licence struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const ours = "github.com/godwitmq/godwit"

func newBill() *bill {
	c := component{Type: "library", Ref: "pkg:golang/" + ours, Name: ours, URL: "pkg:golang/" + ours}
	c.licensed("Apache-2.0")
	return &bill{Format: "CycloneDX", Version: "1.6", Revision: 1, Metadata: metadata{c}}
}

func (b *bill) add(m module, id string) {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: "library", Ref: url, Name: m.Path, Version: m.Version, URL: url}
	c.licensed(id)
	if m.Sum != "" {
		c.Properties = []property{{"go.sum", m.Sum}}
	}
	b.Components = append(b.Components, c)
}

func (c *component) licensed(id string) {
	if id == "" {
		return
	}
	var l licence
	l.Licence.ID = id
	c.Licences = []licence{l}
}
