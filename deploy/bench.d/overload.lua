-- What wrk sends for deploy/bench overload: get, list or create, as MODE says. KEY and SECRET open the app.
-- A connection that was refused with 503 waits for PAUSE ms. Requests are timed if TIMED is set: each thread must have one connection then.
local ffi = require("ffi")
ffi.cdef [[ typedef struct { long seconds; long nanoseconds; } timespec_t; int clock_gettime(int, timespec_t *); ]]
local key, secret, mode, pause = os.getenv("KEY"), os.getenv("SECRET"), os.getenv("MODE"), tonumber(os.getenv("PAUSE"))
local timed = os.getenv("TIMED")
local headers = { ["X-Martlet-Secret"] = secret, ["Content-Type"] = "application/json" }
local path = "/api/" .. key .. "/storage/"
local document = '{"title":"note","group":"g1","n":17,"done":false,'
  .. '"text":"lorem ipsum dolor sit amet lorem ipsum dolor sit amet"}'
local time = ffi.new("timespec_t")
local sent, refusedNow = 0, 0
local threads = {}

accepted, refused, failed, times = 0, 0, 0, ""

local function now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.seconds) * 1e6 + tonumber(time.nanoseconds) / 1e3
end

function setup(thread)
  table.insert(threads, thread)
end

function init()
  math.randomseed(os.time() + now() % 1e6)
end

function request()
  local text
  if mode == "get" then
    text = wrk.format("GET", path .. "Bench/o" .. math.random(0, 9999), headers)
  elseif mode == "list" then
    text = wrk.format("POST", path .. "query/Bench?limit=20", headers, '{"group":"g' .. math.random(0, 499) .. '"}')
  else
    text = wrk.format("POST", path .. "BenchCreate", headers, document)
  end
  if timed then sent = now() end
  return text
end

local list = {}
function response(status)
  if status == 503 then
    refused, refusedNow = refused + 1, refusedNow + 1
  elseif status < 300 then
    accepted = accepted + 1
    if timed then list[#list + 1] = now() - sent end
    if #list == 10 then
      times = times .. table.concat(list, " ") .. " "
      list = {}
    end
  else
    failed = failed + 1
  end
end

function delay()
  if refusedNow == 0 then return 0 end
  refusedNow = refusedNow - 1
  return pause
end

-- One line a program can read: seconds, accepted, refused, other answers and socket errors, p50 and p99 of accepted in ms.
function done(summary)
  local all, sum = {}, { accepted = 0, refused = 0, failed = 0 }
  for _, thread in ipairs(threads) do
    for name in pairs(sum) do sum[name] = sum[name] + thread:get(name) end
    for value in thread:get("times"):gmatch("%S+") do all[#all + 1] = tonumber(value) end
  end
  table.sort(all)
  local errors = summary.errors
  io.write(string.format("RESULT %.3f %d %d %d %.2f %.2f\n", summary.duration / 1e6, sum.accepted, sum.refused,
    sum.failed + errors.connect + errors.read + errors.write + errors.timeout,
    (all[math.ceil(#all * 0.5)] or 0) / 1e3, (all[math.ceil(#all * 0.99)] or 0) / 1e3))
end
