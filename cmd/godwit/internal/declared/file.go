package declared

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/topology"
)

// File is a declaration.
type File struct {
	Spec *topology.Spec
	// Planned is what was to be done when the file was written; nil: the file is a declaration, not a plan.
	Planned *topology.Changes

	name, text string
}

// planVersion is the version of the form of a written plan.
const planVersion = 1

// writtenPlan is a plan with its declaration.
type writtenPlan struct {
	Version int               `json:"godwit_plan"`
	File    string            `json:"file"`
	Text    string            `json:"text"`
	Changes *topology.Changes `json:"changes"`
}

// Read reads a declaration or a written plan.
func Read(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, text: string(text)}
	if plan := new(writtenPlan); bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) &&
		json.Unmarshal(text, plan) == nil && plan.Version != 0 {
		if plan.Version != planVersion || plan.Changes == nil {
			return nil, fmt.Errorf("%s: it is a plan of version %d, and this program reads %d: plan again", name,
				plan.Version, planVersion)
		}
		f.name, f.text, f.Planned = plan.File, plan.Text, plan.Changes
	}
	f.Spec, err = topology.Read(f.name, []byte(f.text))
	return f, err
}

// WritePlan writes a plan of the file.
func (f *File) WritePlan(to string, c *topology.Changes) error {
	text, err := json.MarshalIndent(writtenPlan{planVersion, f.name, f.text, c}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o600)
}

// Locate adds to an error's mistakes of the declaration where they are in the file.
func (f *File) Locate(err error) error { return topology.Locate(err, f.name, []byte(f.text)) }

// Store returns the options of the store of large messages; false: the file names none.
func (f *File) Store() (*s3store.Options, bool) {
	p := f.Spec.Payloads
	return &s3store.Options{Bucket: p.Bucket, Prefix: p.Prefix}, p.Bucket != ""
}
