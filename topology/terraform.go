package topology

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// terraformOf is the type of a resource.
func terraformOf(resource string) string {
	switch resource {
	case "topic":
		return "aws_sns_topic"
	case "subscription":
		return "aws_sns_topic_subscription"
	}
	return "aws_sqs_queue"
}

// Terraform returns the declared channels as a configuration in JSON for Terraform or OpenTofu, main.tf.json, with the
// provider hashicorp/aws. existing are the channels of a catalog that exist already: they get import blocks, but for
// subscriptions, whose ids only SNS knows. The backend is snssqs; it makes no request.
func Terraform(b godwit.Backend, s *Spec, existing []driver.ChannelInfo) ([]byte, error) {
	wanted, err := s.wanted(b, func(resource, name string) string {
		return "${" + terraformOf(resource) + "." + terraformName(s, name) + ".arn}"
	})
	if err != nil {
		return nil, err
	}
	resources := map[string]object{}
	add := func(kind, name string, one object) {
		if resources[kind] == nil {
			resources[kind] = object{}
		}
		resources[kind][name] = one
	}
	imports := []object{}
	for _, r := range wanted {
		kind, name, one := terraformOf(r.Resource), terraformName(s, r.Name), object{}
		for _, key := range slices.Sorted(maps.Keys(r.Attributes)) {
			if key == "Policy" {
				owner := map[string]string{"aws_sqs_queue": "queue_url", "aws_sns_topic": "arn"}[kind]
				reference := map[string]string{"aws_sqs_queue": ".url}", "aws_sns_topic": ".arn}"}[kind]
				add(kind+"_policy", name, object{
					owner: "${" + kind + "." + name + reference, "policy": r.Attributes[key],
				})
				continue
			}
			a, err := attributeOf(&r, key)
			if err != nil {
				return nil, err
			}
			if a.terraform == "" {
				return nil, fmt.Errorf("topology: the provider hashicorp/aws cannot set %s of %s %s: remove the attribute, and "+
					"set it otherwise, or use another export", key, r.Resource, r.Name)
			}
			if a.kind == asDocument {
				a.kind = asText
			}
			if one[a.terraform], err = a.value(escaped(r.Attributes[key])); err != nil {
				return nil, err
			}
		}
		if r.Resource == "subscription" {
			one["protocol"] = "sqs"
		} else {
			tags := object{}
			for key, value := range r.Tags {
				tags[key] = escaped(value)
			}
			one["name"], one["tags"] = r.Name, tags
			if at := importID(&r, existing); at != "" {
				imports = append(imports, object{"to": kind + "." + name, "id": at})
			}
		}
		add(kind, name, one)
	}
	config := object{
		"terraform": object{"required_providers": object{
			"aws": object{"source": "hashicorp/aws", "version": ">= 6.0"},
		}},
		"resource": resources,
	}
	if len(imports) > 0 {
		config["import"] = imports
	}
	return indented(config)
}

// terraformName is the name of a resource in the configuration: orders, orders--dlq, wishes--mobile. It begins with no
// digit.
func terraformName(s *Spec, name string) string {
	name = strings.TrimSuffix(strings.TrimPrefix(name, s.Namespace+"---"), orderedSuffix)
	if name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}

// interpolation is what Terraform replaces in a text, and ours is an address that is meant so.
var (
	interpolation = regexp.MustCompile(`[$%]\{[^}]*\}?`)
	ours          = regexp.MustCompile(`^\$\{aws_(sqs_queue|sns_topic)\.[\w-]+\.arn\}$`)
)

// escaped is a text in which Terraform replaces only our addresses.
func escaped(text string) string {
	return interpolation.ReplaceAllStringFunc(text, func(found string) string {
		if ours.MatchString(found) {
			return found
		}
		return found[:1] + found
	})
}

// importID is the id with which Terraform imports a resource; "": it does not exist.
func importID(r *driver.WantedResource, existing []driver.ChannelInfo) string {
	ch := r.Channel
	ch.DeadLetter = r.Resource == "dead letters"
	for _, c := range existing {
		if c.Channel != ch || c.Mapped {
			continue
		}
		if r.Resource == "topic" {
			return c.Address
		}
		return queueURL(c.Address)
	}
	return ""
}
