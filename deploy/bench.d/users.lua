-- What wrk sends: MODE is get, token, fresh, refresh or login. KEY and SECRET open the app.
local key, secret, mode = os.getenv("KEY"), os.getenv("SECRET"), os.getenv("MODE")
local headers = { ["X-Martlet-Secret"] = secret, ["Content-Type"] = "application/json" }
local get, auth = "/api/" .. key .. "/storage/Bench/o1", "/api/" .. key .. "/auth/"
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

-- Each thread has one connection and its own chain of refresh tokens; the access tokens are kept for `fresh`.
local token, tokens, next, out

function init()
  if mode == "refresh" then
    token = io.open(os.getenv("REFRESH_TOKENS") .. "/" .. number):read("l")
    out = io.open(os.getenv("ACCESS_TOKENS") .. number, "w")
    out:setvbuf("line")
  elseif mode == "fresh" then
    tokens, next = {}, 0
    for file = 1, 16 do
      for line in io.lines(os.getenv("ACCESS_TOKENS") .. file) do tokens[#tokens + 1] = line end
    end
  elseif mode == "token" then
    headers["Authorization"] = "Bearer " .. os.getenv("TOKEN")
  end
end

function request()
  if mode == "refresh" then
    return wrk.format("POST", auth .. "refresh", headers, '{"refreshToken":"' .. token .. '"}')
  elseif mode == "login" then
    return wrk.format("POST", auth .. "login", headers, '{"userName":"user' .. number .. '","password":"correct horse ' .. number .. '"}')
  elseif mode == "fresh" then
    next = next % #tokens + 1
    headers["Authorization"] = "Bearer " .. tokens[next]
  end
  return wrk.format("GET", get, headers)
end

if mode == "refresh" then
  function response(status, _, body)
    local fresh = body:match('"refreshToken":"([^"]+)"')
    if status ~= 200 or not fresh then return end
    token = fresh
    out:write(body:match('"accessToken":"([^"]+)"'), "\n")
  end
end

function done(summary)
  local errors = summary.errors
  io.write(string.format("RESULT %d %.3f %d %d\n", summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
