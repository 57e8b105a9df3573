// Package tagging finds resources by their tags.
//
// Service is the AWS Resource Groups Tagging API as far as programs that look for their queues and topics
// need it: one action, GetResources, with TagFilters, ResourceTypeFilters, ResourceARNList, ResourcesPerPage,
// TagsPerPage and PaginationToken. Compliance is not known here: IncludeComplianceDetails and
// ExcludeCompliantResources are refused unless false. A Resource is an ARN with its tags; a Source lists the
// resources of one service.
package tagging
