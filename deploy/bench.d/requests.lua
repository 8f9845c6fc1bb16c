-- What wrk sends: get, list or create, as MODE says. KEY and SECRET open the app.
local key, secret, mode = os.getenv("KEY"), os.getenv("SECRET"), os.getenv("MODE")
local headers = { ["X-Martlet-Secret"] = secret, ["Content-Type"] = "application/json" }
local path = "/api/" .. key .. "/storage/"
local document = '{"title":"note","group":"g1","n":17,"done":false,'
  .. '"text":"lorem ipsum dolor sit amet lorem ipsum dolor sit amet"}'

math.randomseed(os.time())

function request()
  if mode == "get" then
    return wrk.format("GET", path .. "Bench/o" .. math.random(0, 9999), headers)
  elseif mode == "list" then
    return wrk.format("POST", path .. "query/Bench?limit=20", headers, '{"group":"g' .. math.random(0, 499) .. '"}')
  else
    return wrk.format("POST", path .. "BenchCreate", headers, document)
  end
end

-- One line a program can read: requests, seconds, answers that were not 2xx, socket errors.
function done(summary)
  local errors = summary.errors
  io.write(string.format("RESULT %d %.3f %d %d\n", summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
