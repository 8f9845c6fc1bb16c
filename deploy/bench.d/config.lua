-- What wrk sends: requests for the configuration. MODE is known or fixed (with the current entity tag), asked (with the
-- current tag and a new one each time, so that the gateway cannot repeat an answer) or full (without a tag). The variables
-- KEY, SECRET and TAG are needed.
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
