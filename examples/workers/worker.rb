# A worker for `godwit run CHANNEL --worker 'ruby worker.rb'`. The protocol is in docs/run.md.

require "json"

# The message is wrong, and will not become right.
class Wrong < StandardError; end

def handle(message)
  amount = begin
    JSON.parse(message["body"]).fetch("amount")
  rescue JSON::ParserError, KeyError => e
    raise Wrong, "it is no order: #{e.message}"
  end
  raise Wrong, "the amount is negative" if amount.negative?

  warn "booked #{amount}"
end

def answer(message)
  handle(message)
  { request: message["request"], action: "done" }
rescue Wrong => e
  { request: message["request"], action: "reject", error: e.message }
rescue StandardError => e # all others are failures: they are tried again
  { request: message["request"], action: "fail", error: e.message }
end

# Whether it has waited too long for this worker: then another one has it.
def late?(message) = message.key?("begin_by") && Time.now.to_f > message["begin_by"]

def release(message) = { request: message["request"], action: "release" }

$stdout.sync = true
$stdin.gets # what godwit says about itself
puts JSON.generate(godwit: 1, ready: true, ahead: true)
$stdin.each_line do |line|
  message = JSON.parse(line)
  puts JSON.generate(late?(message) ? release(message) : answer(message))
end
