-- What wrk sends for deploy/bench peers: MODE is get, list, create, update, delete, upload or login; PEER is martlet or
-- pocketbase. Deletes begin with object number FIRST, of DELETES objects in all. FILE is the file that is uploaded.
local mode, peer = os.getenv("MODE"), os.getenv("PEER")
local isMartlet = peer == "martlet"
local headers = { ["Content-Type"] = "application/json" }
if isMartlet then headers["X-Martlet-Secret"] = os.getenv("SECRET") end
local api = "/api/" .. os.getenv("KEY")
local objects = isMartlet and api .. "/storage/Bench" or "/api/collections/Bench/records"
local created = isMartlet and api .. "/storage/BenchCreate" or "/api/collections/BenchCreate/records"
local list = isMartlet and objects .. "?where=%7B%22status%22%3A%22open%22%7D&order=-priority&limit=20"
  or objects .. "?filter=status%3D%22open%22&sort=-priority&perPage=20&skipTotal=1"
local login = isMartlet and api .. "/auth/login" or "/api/collections/users/auth-with-password"
local document = '{"title":"note","status":"open","priority":17,"done":false,'
  .. '"text":"lorem ipsum dolor sit amet lorem ipsum dolor sit amet"}'
local deleted = isMartlet and api .. "/storage/BenchDelete/" or "/api/collections/BenchDelete/records/"
local uploaded = isMartlet and api .. "/upload/bench/" or "/api/collections/BenchFile/records"
local first, deletes = tonumber(os.getenv("FIRST")), tonumber(os.getenv("DELETES"))
local ids, file, requests = {}, nil, 0

math.randomseed(os.time())

-- Each thread has its own user, because attempts to log in to one account wait for each other.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init()
  for line in io.lines(os.getenv("IDS")) do
    local owner, id = line:match("^(%w+) (.+)$")
    if owner == peer then ids[#ids + 1] = id end
  end
  local bytes = assert(io.open(os.getenv("FILE"), "rb"))
  file = bytes:read("*a")
  bytes:close()
end

-- Because 7919 is prime, this visits the objects in another order than they were stored in.
local function delete()
  return wrk.format("DELETE", deleted .. string.format("d%014d", (first + requests) * 7919 % deletes), headers)
end

-- The same way as in MartletKit and in PocketBase's client.
local function upload()
  if isMartlet then
    headers["Content-Type"] = "application/octet-stream"
    return wrk.format("PUT", uploaded .. first .. "-" .. requests .. ".bin", headers, file)
  end
  headers["Content-Type"] = "multipart/form-data; boundary=bench"
  local form = '--bench\r\nContent-Disposition: form-data; name="file"; filename="' .. requests .. '.bin"\r\n'
    .. "Content-Type: application/octet-stream\r\n\r\n" .. file .. "\r\n--bench--\r\n"
  return wrk.format("POST", uploaded, headers, form)
end

function request()
  requests = requests + 1
  if mode == "delete" then return delete() end
  if mode == "upload" then return upload() end
  if mode == "list" then return wrk.format("GET", list, headers) end
  if mode == "create" then return wrk.format("POST", created, headers, document) end
  if mode == "login" then
    local name = isMartlet and '{"email":"' or '{"identity":"'
    local words = name .. "user" .. number .. '@example.org","password":"correct horse ' .. number .. '"}'
    return wrk.format("POST", login, headers, words)
  end
  local object = objects .. "/" .. ids[math.random(#ids)]
  if mode == "update" then
    return wrk.format("PATCH", object, headers, '{"priority":' .. math.random(0, 999) .. "}")
  end
  return wrk.format("GET", object, headers)
end

-- One line a program can read: requests, seconds, answers that were not 2xx, socket errors.
function done(summary)
  local errors = summary.errors
  io.write(string.format("RESULT %d %.3f %d %d\n", summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
