// Package tagging is the AWS Resource Groups Tagging API, as far as programs need it to find their queues and topics by
// tags: one action, GetResources, with TagFilters, ResourceTypeFilters, ResourceARNList, ResourcesPerPage, TagsPerPage
// and PaginationToken. Compliance is not supported: IncludeComplianceDetails and ExcludeCompliantResources are refused
// unless false.
//
// Its nouns: a [Resource] is an ARN with its tags. A [Source] lists the resources of one service. A [Service] searches
// several sources.
package tagging
