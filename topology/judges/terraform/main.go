// Command terraform reads a configuration of Terraform in JSON with HashiCorp's own library, as Terraform and OpenTofu
// do, and evaluates all of its expressions: each address must name a resource that the configuration has, and each text
// that the provider takes as JSON must be JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// blocks are the blocks of a configuration that an export may have.
var blocks = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"},
	{Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "import"},
}}

// computed are the attributes of resources that others may refer to.
var computed = map[string][]string{
	"aws_sqs_queue":              {"arn", "id", "url", "name"},
	"aws_sqs_queue_policy":       {"id"},
	"aws_sns_topic":              {"arn", "id", "name"},
	"aws_sns_topic_policy":       {"id"},
	"aws_sns_topic_subscription": {"arn", "id"},
}

// inJSON are the arguments that are JSON.
var inJSON = []string{"policy", "redrive_policy", "redrive_allow_policy", "filter_policy", "delivery_policy"}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "name one file in JSON")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if wrong := judge(text, os.Args[1]); wrong.HasErrors() {
		for _, one := range wrong {
			fmt.Fprintln(os.Stderr, one)
		}
		os.Exit(1)
	}
}

// judge returns what is wrong in a configuration.
func judge(text []byte, name string) hcl.Diagnostics {
	file, wrong := hcljson.Parse(text, name)
	if wrong.HasErrors() {
		return wrong
	}
	content, wrong := file.Body.Content(blocks)
	resources := map[string]map[string]cty.Value{}
	for _, b := range content.Blocks.OfType("resource") {
		kind, attributes := b.Labels[0], map[string]cty.Value{}
		for _, a := range computed[kind] {
			attributes[a] = cty.StringVal(b.Labels[1] + "." + a)
		}
		if len(attributes) == 0 {
			wrong = wrong.Append(at(b.DefRange, "there is no resource "+kind))
			continue
		}
		if resources[kind] == nil {
			resources[kind] = map[string]cty.Value{}
		}
		resources[kind][b.Labels[1]] = cty.ObjectVal(attributes)
	}
	known := &hcl.EvalContext{Variables: map[string]cty.Value{}}
	for kind, all := range resources {
		known.Variables[kind] = cty.ObjectVal(all)
	}
	for _, b := range content.Blocks {
		arguments, found := b.Body.JustAttributes()
		wrong = wrong.Extend(found)
		for _, a := range arguments {
			switch b.Type {
			case "resource":
				wrong = wrong.Extend(argument(a, known))
			case "import":
				wrong = wrong.Extend(imported(a, known))
			}
		}
	}
	return wrong
}

// argument evaluates an argument of a resource.
func argument(a *hcl.Attribute, known *hcl.EvalContext) hcl.Diagnostics {
	v, wrong := a.Expr.Value(known)
	if wrong.HasErrors() || !slices.Contains(inJSON, a.Name) {
		return wrong
	}
	if v.Type() != cty.String || !json.Valid([]byte(v.AsString())) {
		return wrong.Append(at(a.Range, a.Name+" is no JSON"))
	}
	return wrong
}

// imported looks up the resource of an import block.
func imported(a *hcl.Attribute, known *hcl.EvalContext) hcl.Diagnostics {
	v, wrong := a.Expr.Value(nil)
	if wrong.HasErrors() || a.Name != "to" {
		return wrong
	}
	kind, name, _ := strings.Cut(v.AsString(), ".")
	if all, there := known.Variables[kind]; !there || !all.Type().HasAttribute(name) {
		return wrong.Append(at(a.Range, "no resource has the address "+v.AsString()))
	}
	return wrong
}

func at(where hcl.Range, what string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: what, Subject: &where}
}
