// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Owned} from "./Owned.sol";

/// @title Sanctioned addresses in storage, for contracts that ask `isSanctioned(address)`.
/// @notice `assay oracle push` keeps the list equal to the sanctions lists. It costs two slots per address; for more than some thousand
/// addresses use SanctionsRoot.sol.
contract SanctionsOracle is Owned {
    /// The only account that may change the list.
    address public pusher;

    /// Every listed address, in no particular order, so that a pusher can read the list without the history of the chain.
    address[] private listed;
    /// Position in `listed`, plus one.
    mapping(address account => uint256) private position;

    event PusherSet(address indexed pusher);
    event SanctionedAddressesAdded(address[] addrs);
    event SanctionedAddressesRemoved(address[] addrs);

    error NotPusher(address caller);

    constructor(address pusher_) {
        pusher = pusher_;
        emit PusherSet(pusher_);
    }

    modifier onlyPusher() {
        if (msg.sender != pusher) revert NotPusher(msg.sender);
        _;
    }

    function setPusher(address pusher_) external onlyOwner {
        pusher = pusher_;
        emit PusherSet(pusher_);
    }

    function isSanctioned(address account) external view returns (bool) {
        return position[account] != 0;
    }

    function count() external view returns (uint256) {
        return listed.length;
    }

    /// @notice Returns up to `limit` listed addresses from a position; fewer at the end of the list.
    function page(uint256 from, uint256 limit) external view returns (address[] memory accounts) {
        uint256 length = listed.length;
        uint256 end = from >= length ? from : limit > length - from ? length : from + limit;
        accounts = new address[](end - from);
        for (uint256 i = from; i < end; i++) accounts[i - from] = listed[i];
    }

    /// @notice Lists addresses. One that is listed already is skipped, so that a batch can be sent again.
    function addToSanctionsList(address[] calldata accounts) external onlyPusher {
        for (uint256 i = 0; i < accounts.length; i++) {
            address account = accounts[i];
            if (position[account] != 0) continue;
            listed.push(account);
            position[account] = listed.length;
        }
        emit SanctionedAddressesAdded(accounts);
    }

    /// @notice Removes addresses. One that is not listed is skipped.
    function removeFromSanctionsList(address[] calldata accounts) external onlyPusher {
        for (uint256 i = 0; i < accounts.length; i++) {
            uint256 place = position[accounts[i]];
            if (place == 0) continue;
            address last = listed[listed.length - 1];
            listed[place - 1] = last;
            position[last] = place;
            listed.pop();
            // After the line above: the removed address may be the last one itself.
            delete position[accounts[i]];
        }
        emit SanctionedAddressesRemoved(accounts);
    }
}
