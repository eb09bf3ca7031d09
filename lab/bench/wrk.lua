-- Sends the requests of a file in turn. They are one after the other in it; a body is a JSON object
-- and a blank line.
local requests, number = {}, 0
function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  for request in file:read("*a"):gmatch(".-\r\n\r\n") do
    if request:sub(1, 1) == "{" then
      requests[#requests] = requests[#requests] .. request
    else
      requests[#requests + 1] = request
    end
  end
  file:close()
end
function request()
  number = number % #requests + 1
  return requests[number]
end
