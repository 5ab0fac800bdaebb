-- Takes the last attempt back. If ARGV[1] is 1, forgets all attempts at the account.
--
-- KEYS: account, and the address if it is counted.
for i = 1, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') > 0 then redis.call('DECR', KEYS[i]) end
end
if ARGV[1] == '1' then redis.call('DEL', KEYS[1]) end
return 0
