// The contracts of the tests' EVM world. Built by solc 0.8.30 (--evm-version paris, optimizer on, 200 runs) into contracts.json.
// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.30;

contract Token {
    event Transfer(address indexed from, address indexed to, uint256 value);
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;

    constructor() {
        balanceOf[msg.sender] = 1_000_000_000_000;
        emit Transfer(address(0), msg.sender, 1_000_000_000_000);
    }

    function transfer(address to, uint256 value) public returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }

    // Many transfers in one transaction, to made-up addresses: for blocks as full as real ones.
    function spray(uint160 from, uint256 count) external {
        for (uint160 i = 0; i < count; i++) transfer(address(from + i), 1);
    }
}

contract Pieces {
    event Transfer(address indexed from, address indexed to, uint256 indexed id);
    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
    event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values);

    function give(address to, uint256 id) external { emit Transfer(msg.sender, to, id); }
    function giveSome(address to, uint256 id, uint256 value) external {
        emit TransferSingle(msg.sender, msg.sender, to, id, value);
    }
    function giveMany(address to, uint256[] calldata ids, uint256[] calldata values) external {
        emit TransferBatch(msg.sender, msg.sender, to, ids, values);
    }
    // Logs that only look like transfers.
    function lie() external {
        bytes32 kind = keccak256("Transfer(address,address,uint256)");
        bytes32 batch = keccak256("TransferBatch(address,address,address,uint256[],uint256[])");
        assembly {
            mstore(0, 1)
            log3(0, 5, kind, 1, 2)
            log1(0, 32, kind)
            log4(0, 32, batch, 1, 2, 3)
        }
    }
}

contract Sink {
    receive() external payable {}
    function refuse() external payable { revert("no"); }
    function end(address payable to) external { selfdestruct(to); }
    function look() external view returns (uint256) { return address(this).balance; }
}

contract Router {
    event Done();
    receive() external payable {}

    // 0: pays `to`; 1: a call that fails after taking value; 2: delegated code that pays; 3: a look without value; 4: a
    // creation with value; 5: its end, which pays `to` again.
    function run(address payable to) external payable {
        (bool paid, ) = to.call{value: msg.value / 4}("");
        require(paid);
        Sink sink = new Sink();
        try sink.refuse{value: 1}() {} catch {}
        (bool delegated, ) = address(this).delegatecall(abi.encodeCall(Router.pay, (to, msg.value / 8)));
        require(delegated);
        sink.look();
        (bool filled, ) = address(sink).call{value: msg.value / 2}("");
        require(filled);
        sink.end(to);
        emit Done();
    }
    function pay(address payable to, uint256 value) external payable {
        (bool paid, ) = to.call{value: value}("");
        require(paid);
    }
    function fail() external payable { revert("all undone"); }
}

// As EIP-137 has it, without owners' rights: anyone may set anything.
contract Registry {
    mapping(bytes32 => address) public resolver;
    function setResolver(bytes32 node, address to) external { resolver[node] = to; }
}

contract Resolver {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);
    mapping(bytes32 => address) addresses;
    string gateway;
    bytes32 offchain;

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x3b3b57de || id == 0x9061b923;
    }
    function setAddr(bytes32 node, address to) external { addresses[node] = to; }
    function setGateway(bytes32 node, string calldata url) external { offchain = node; gateway = url; }

    // EIP-2544: also for names below, which is how names outside the chain are kept.
    function resolve(bytes calldata, bytes calldata data) external view returns (bytes memory) {
        bytes32 node = bytes32(data[4:36]);
        if (node == offchain) {
            string[] memory urls = new string[](1);
            urls[0] = gateway;
            revert OffchainLookup(address(this), urls, data, Resolver.prove.selector, data);
        }
        return abi.encode(addresses[node]);
    }
    function prove(bytes calldata answer, bytes calldata) external pure returns (bytes memory) { return answer; }
    function addr(bytes32 node) external view returns (address) { return addresses[node]; }
}

// A token whose code is put at the address of a real one: decimals are storage, so that code alone is enough.
contract PairToken {
    uint8 public decimals;
    mapping(address => uint256) public balanceOf;

    function setDecimals(uint8 value) external { decimals = value; }
    function give(address to, uint256 value) external { balanceOf[to] += value; }
    function transfer(address to, uint256 value) external returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        return true;
    }
}

// A pair with the published interface of Uniswap v2 (whitepaper, sections 2.2 and 3): prices are added up in UQ112x112 before the
// first change of the reserves in a block, and both the sums and the time wrap around.
contract Pair {
    address public token0;
    address public token1;
    uint112 private reserve0;
    uint112 private reserve1;
    uint32 private blockTimestampLast;
    uint256 public price0CumulativeLast;
    uint256 public price1CumulativeLast;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;

    constructor(address first, address second) {
        token0 = first;
        token1 = second;
    }

    function getReserves() external view returns (uint112, uint112, uint32) {
        return (reserve0, reserve1, blockTimestampLast);
    }

    function held() private view returns (uint256, uint256) {
        return (PairToken(token0).balanceOf(address(this)), PairToken(token1).balanceOf(address(this)));
    }

    function update(uint256 balance0, uint256 balance1) private {
        require(balance0 <= type(uint112).max && balance1 <= type(uint112).max, "overflow");
        unchecked {
            uint32 time = uint32(block.timestamp % 2 ** 32);
            uint32 elapsed = time - blockTimestampLast;
            if (elapsed > 0 && reserve0 != 0 && reserve1 != 0) {
                price0CumulativeLast += (uint256(reserve1) << 112) / reserve0 * elapsed;
                price1CumulativeLast += (uint256(reserve0) << 112) / reserve1 * elapsed;
            }
            blockTimestampLast = time;
        }
        reserve0 = uint112(balance0);
        reserve1 = uint112(balance1);
    }

    function sync() external {
        (uint256 balance0, uint256 balance1) = held();
        update(balance0, balance1);
    }

    function swap(uint256 out0, uint256 out1, address to, bytes calldata) external {
        (uint256 before0, uint256 before1) = (reserve0, reserve1);
        require(out0 < before0 && out1 < before1, "liquidity");
        if (out0 > 0) PairToken(token0).transfer(to, out0);
        if (out1 > 0) PairToken(token1).transfer(to, out1);
        (uint256 balance0, uint256 balance1) = held();
        uint256 in0 = balance0 > before0 - out0 ? balance0 - (before0 - out0) : 0;
        uint256 in1 = balance1 > before1 - out1 ? balance1 - (before1 - out1) : 0;
        require((balance0 * 1000 - in0 * 3) * (balance1 * 1000 - in1 * 3) >= before0 * before1 * 1000 ** 2, "K");
        update(balance0, balance1);
    }

    function mint(address to) external returns (uint256 shares) {
        (uint256 balance0, uint256 balance1) = held();
        shares = totalSupply == 0 ? balance0 : (balance0 - reserve0) * totalSupply / reserve0;
        totalSupply += shares;
        balanceOf[to] += shares;
        update(balance0, balance1);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        balanceOf[msg.sender] -= value;
        balanceOf[to] += value;
        return true;
    }

    function burn(address to) external {
        (uint256 balance0, uint256 balance1) = held();
        uint256 shares = balanceOf[address(this)];
        balanceOf[address(this)] = 0;
        PairToken(token0).transfer(to, balance0 * shares / totalSupply);
        PairToken(token1).transfer(to, balance1 * shares / totalSupply);
        totalSupply -= shares;
        (balance0, balance1) = held();
        update(balance0, balance1);
    }
}

contract PairFactory {
    mapping(address => mapping(address => address)) public getPair;

    function createPair(address first, address second) external returns (address pair) {
        (address token0, address token1) = first < second ? (first, second) : (second, first);
        require(token0 != address(0) && token0 != token1 && getPair[token0][token1] == address(0), "pair");
        pair = address(new Pair(token0, token1));
        getPair[token0][token1] = pair;
        getPair[token1][token0] = pair;
    }
}
