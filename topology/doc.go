// Package topology declares channels in a file, compares them with what exists, and makes what exists match.
//
// Its nouns: a [Spec] declares exchanges and channels. [Read] reads one from godwit.yaml, and reports every [Mistake]
// with its line and column before anything is called. [Plan] returns the [Changes], each of them a [Step], from what
// exists to what is declared. [Apply] makes them, and can be repeated after a failure. [Adopt] marks what programs have
// made as declared. [Destroy] deletes what is declared. [Resources] lists a namespace with owners and costs.
// [Import] declares what exists, [ImportTerraform] what a state of Terraform has, and [Format] writes a declaration.
// The exports are [Mermaid], [Markdown], [Terraform], [CloudFormation], [Policies], [AsyncAPI] and [ScaledObjects].
//
// Resources that a topology has declared have the tag topology. A consumer in mode ProvisionAuto compares them with its
// options, logs once what differs, and leaves them as they are. So a program and a file that disagree do not change a
// queue back and forth. Kafka's topics have no tags.
//
// A program takes its options from the same file with [Spec.Consumer] and [Spec.Producer], so that a setting is written
// once. docs/topology.md explains the file.
package topology
