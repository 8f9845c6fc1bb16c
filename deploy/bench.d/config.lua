-- What wrk sends: the configuration with the tag that is known (MODE known or fixed), with another one beside it each
-- time, so that no gateway has the answer (asked), or without one (full). KEY, SECRET and TAG open and name it.
local headers = { ["X-Martlet-Secret"] = os.getenv("SECRET"), ["Accept-Encoding"] = "gzip" }
if os.getenv("MODE") ~= "full" then headers["If-None-Match"] = os.getenv("TAG") end
local text

function init() text = wrk.format("GET", "/api/" .. os.getenv("KEY") .. "/remote/1.0", headers) end

local count = 0

function request()
  if os.getenv("MODE") ~= "asked" then return text end
  count = count + 1
  headers["If-None-Match"] = os.getenv("TAG") .. ', "' .. count .. '"'
  return wrk.format("GET", "/api/" .. os.getenv("KEY") .. "/remote/1.0", headers)
end

function done(summary)
  local errors = summary.errors
  io.write(string.format("RESULT %d %.3f %d %d\n", summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
