-- What wrk sends: envelopes of some 11 kB with a crash, each with its own id, from 200 different places in an app.
local key = os.getenv("INGEST")
local headers = { ["X-Sentry-Auth"] = "Sentry sentry_version=7, sentry_key=" .. key, ["Content-Type"] = "application/x-sentry-envelope" }

local frames = {}
for i = 1, 45 do
  frames[i] = string.format(
    '{"function":"-[ShopViewController section%dTapped:]","package":"/var/containers/Bundle/Application/4465496C/Shop.app/Shop","instruction_addr":"0x10008f%03x","image_addr":"0x100088000","in_app":%s}',
    i, i * 16, i % 3 == 0 and "true" or "false")
end
local before = '{"platform":"cocoa","level":"fatal","release":"com.example.shop@1.2.0+3","environment":"production","tags":{"language":"swift"},'
  .. '"contexts":{"os":{"name":"iOS","version":"17.2"},"device":{"model":"iPhone15,2"}},"exception":{"values":[{"type":"EXC_BAD_ACCESS","value":"KERN_INVALID_ADDRESS at 0x10",'
  .. '"mechanism":{"type":"mach","handled":false},"stacktrace":{"frames":[' .. table.concat(frames, ",") .. ',{"in_app":true,"instruction_addr":"0x100091a20","function":"-[Cart add'
local after = ']"}]}}]}}'

math.randomseed(os.time())

function request()
  local id = string.format("%08x%08x%08x%08x", math.random(0, 0x7fffffff), math.random(0, 0x7fffffff), math.random(0, 0x7fffffff), math.random(0, 0x7fffffff))
  local event = before .. math.random(1, 200) .. after
  local user = '"user":{"id":"u' .. math.random(1, 5000) .. '"},'
  event = "{" .. user .. event:sub(2)
  return wrk.format("POST", "/crash/api/1/envelope/", headers, '{"event_id":"' .. id .. '"}\n{"type":"event","length":' .. #event .. "}\n" .. event .. "\n")
end

-- One line a program can read: requests, seconds, answers that were not 2xx, socket errors, p50 and p99 in microseconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %d %.3f %d %d %d %d\n", summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout, latency:percentile(50), latency:percentile(99)))
end
