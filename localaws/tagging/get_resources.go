package tagging

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// GetResourcesInput is the input of GetResources.
type GetResourcesInput struct {
	PaginationToken           string      `json:"PaginationToken"`
	TagFilters                []TagFilter `json:"TagFilters"`
	ResourcesPerPage          *int        `json:"ResourcesPerPage"`
	TagsPerPage               *int        `json:"TagsPerPage"`
	ResourceTypeFilters       []string    `json:"ResourceTypeFilters"`
	IncludeComplianceDetails  bool        `json:"IncludeComplianceDetails"`
	ExcludeCompliantResources bool        `json:"ExcludeCompliantResources"`
	ResourceARNList           []string    `json:"ResourceARNList"`
}

// TagFilter selects resources with a tag; without Values, the tag may have any value.
type TagFilter struct {
	Key    string   `json:"Key"`
	Values []string `json:"Values"`
}

// GetResourcesOutput is the output of GetResources. The token is "" on the last page.
type GetResourcesOutput struct {
	PaginationToken        *string           `json:"PaginationToken"`
	ResourceTagMappingList []ResourceMapping `json:"ResourceTagMappingList"`
}

// ResourceMapping is one resource of an output.
type ResourceMapping struct {
	ResourceARN string `json:"ResourceARN"`
	Tags        []Tag  `json:"Tags"`
}

// Tag is one tag of a resource.
type Tag struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

const (
	defaultPerPage = 50  // resources of a page, unless the client says otherwise
	maxPerPage     = 100 // AWS: resources a page
	maxARNs        = 100 // AWS: ResourceARNList
	maxFilters     = 50  // AWS: TagFilters
	maxValues      = 20  // AWS: values of a filter
	leastTags      = 100 // AWS: TagsPerPage at least
	maxTags        = 500 // AWS: TagsPerPage at most
)

// getResources finds resources of the request's region only. AWS also lists resources that had tags before, and shows a
// change after seconds or minutes (AWS's API reference, GetResources); here it is visible at once.
func (s *Service) getResources(_ context.Context, c *wire.Call, in *GetResourcesInput) (*GetResourcesOutput, error) {
	if fault := in.check(); fault != nil {
		return nil, fault
	}
	after, known := wire.ReadPageToken(in.PaginationToken)
	if !known {
		return nil, invalid("PaginationToken is not one that this server gave")
	}
	out := &GetResourcesOutput{ResourceTagMappingList: []ResourceMapping{}}
	token, tags := "", 0
	for _, r := range s.all(c.Place()) {
		if r.ARN <= after || !in.wants(r) {
			continue
		}
		full := len(out.ResourceTagMappingList) == in.perPage()
		if tags += len(r.Tags); full || in.TagsPerPage != nil && tags > *in.TagsPerPage {
			token = wire.PageToken(out.ResourceTagMappingList[len(out.ResourceTagMappingList)-1].ResourceARN)
			break
		}
		out.ResourceTagMappingList = append(out.ResourceTagMappingList, mapping(r))
	}
	out.PaginationToken = &token
	return out, nil
}

// all lists every tagged resource of a place, sorted by ARN, which is the order of pages.
func (s *Service) all(at wire.Place) []Resource {
	var all []Resource
	for _, source := range s.sources {
		all = append(all, source(at)...)
	}
	slices.SortFunc(all, func(a, b Resource) int { return cmp.Compare(a.ARN, b.ARN) })
	return all
}

func (in *GetResourcesInput) perPage() int {
	if in.ResourcesPerPage != nil {
		return *in.ResourcesPerPage
	}
	if in.TagsPerPage != nil || len(in.ResourceARNList) > 0 {
		return maxPerPage
	}
	return defaultPerPage
}

func (in *GetResourcesInput) check() *wire.Error {
	alone := in.PaginationToken == "" && in.TagFilters == nil && in.ResourcesPerPage == nil && in.TagsPerPage == nil &&
		in.ResourceTypeFilters == nil
	switch {
	case in.IncludeComplianceDetails || in.ExcludeCompliantResources:
		return invalid("IncludeComplianceDetails and ExcludeCompliantResources are not supported by this server")
	case len(in.ResourceARNList) > maxARNs:
		return invalid("ResourceARNList must have at most 100 members")
	case len(in.ResourceARNList) > 0 && !alone:
		return invalid("ResourceARNList cannot be given together with any other parameter")
	case in.ResourcesPerPage != nil && (*in.ResourcesPerPage < 1 || *in.ResourcesPerPage > maxPerPage):
		return invalid("ResourcesPerPage must be between 1 and 100")
	case in.TagsPerPage != nil &&
		(*in.TagsPerPage < leastTags || *in.TagsPerPage > maxTags || *in.TagsPerPage%leastTags != 0):
		return invalid("TagsPerPage must be a multiple of 100 between 100 and 500")
	case len(in.TagFilters) > maxFilters:
		return invalid("TagFilters must have at most 50 members")
	}
	for _, f := range in.TagFilters {
		if f.Key == "" {
			return invalid("TagFilters must have a Key each")
		}
		if len(f.Values) > maxValues {
			return invalid("a member of TagFilters must have at most 20 Values")
		}
	}
	return nil
}

func (in *GetResourcesInput) wants(r Resource) bool {
	if len(in.ResourceARNList) > 0 {
		return slices.Contains(in.ResourceARNList, r.ARN)
	}
	if len(in.ResourceTypeFilters) > 0 &&
		!slices.ContainsFunc(in.ResourceTypeFilters, func(t string) bool { return isOf(r.ARN, t) }) {
		return false
	}
	for _, f := range in.TagFilters {
		value, ok := r.Tags[f.Key]
		if !ok || len(f.Values) > 0 && !slices.Contains(f.Values, value) {
			return false
		}
	}
	return true
}

// isOf reports whether a resource has a type: "sqs" or "sqs:queue", "sns" or "sns:topic".
func isOf(arn, kind string) bool {
	parts := strings.Split(arn, ":")
	kinds := map[string]string{"sqs": "sqs:queue", "sns": "sns:topic", "cloudwatch": "cloudwatch:alarm"}
	return parts[2] == kind || kinds[parts[2]] == kind
}

func mapping(r Resource) ResourceMapping {
	m := ResourceMapping{ResourceARN: r.ARN, Tags: []Tag{}}
	for _, k := range slices.Sorted(maps.Keys(r.Tags)) {
		m.Tags = append(m.Tags, Tag{k, r.Tags[k]})
	}
	return m
}

func invalid(message string) *wire.Error {
	return &wire.Error{Code: "InvalidParameterException", Message: message}
}
