-- What wrk sends: MODE is batch (50 events), track (one event) or create (one object). KEY, SECRET and INGEST open the app.
local mode, key, secret = os.getenv("MODE"), os.getenv("KEY"), os.getenv("SECRET")
local headers = { ["Content-Type"] = "application/json" }
local threads, count = 0, 0
local time = os.date("!%Y-%m-%dT%H:%M:%SZ")

if mode == "create" then
  headers["X-Martlet-Secret"] = secret
else
  headers["Authorization"] = "Basic " .. os.getenv("INGEST")
end

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

-- As an app sends it: a context like that of mobile clients, a few properties, ids that never come twice.
local context = '"context":{"app":{"name":"Bench","version":"1.2.3","build":"45"},"os":{"name":"iOS","version":"17.2"},'
  .. '"device":{"manufacturer":"Apple","model":"iPhone15,2"},"locale":"de_CH","library":{"name":"analytics-swift","version":"1.6.0"}}'
local run = os.time() .. "-" .. math.random(1, 1e9)
local names = {}
for i = 1, 20 do names[i] = "Event " .. i end

local function event(index)
  return string.format(
    '{"type":"track","event":"%s","anonymousId":"device-%d","messageId":"%s-%d-%d","timestamp":"%s","properties":{"button":"buy","price":4.99,"item":"ab-%d"},%s}',
    names[index % 20 + 1], index % 5000, run, number, index, time, index % 1000, context)
end

function init()
  run = run .. "-" .. math.random(1, 1e9) .. tostring({}):sub(8)
end

function request()
  if mode == "create" then
    return wrk.format("POST", "/api/" .. key .. "/storage/BenchCreate", headers,
      '{"title":"note","group":"g1","n":17,"done":false,"text":"lorem ipsum dolor sit amet lorem ipsum dolor sit amet"}')
  end
  local events = {}
  for i = 1, mode == "batch" and 50 or 1 do
    count = count + 1
    events[i] = event(count)
  end
  if mode == "track" then return wrk.format("POST", "/segment/v1/track", headers, events[1]) end
  return wrk.format("POST", "/segment/v1/batch", headers, '{"batch":[' .. table.concat(events, ",") .. '],"sentAt":"' .. time .. '"}')
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %d %.3f %d %d %.1f\n", summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout, latency:percentile(99) / 1000))
end
