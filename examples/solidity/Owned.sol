// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title An owner that is replaced in two steps, so that a mistyped address cannot take over.
abstract contract Owned {
    address public owner;
    /// The address that may become the owner by calling `acceptOwnership`.
    address public nextOwner;

    event OwnershipOffered(address indexed owner, address indexed nextOwner);
    event OwnershipAccepted(address indexed owner);

    error NotOwner(address caller);
    error NotNextOwner(address caller);

    constructor() {
        owner = msg.sender;
        emit OwnershipAccepted(msg.sender);
    }

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _;
    }

    /// @param next The new owner, or zero to withdraw an offer.
    function offerOwnership(address next) external onlyOwner {
        nextOwner = next;
        emit OwnershipOffered(owner, next);
    }

    function acceptOwnership() external {
        if (msg.sender != nextOwner) revert NotNextOwner(msg.sender);
        owner = msg.sender;
        nextOwner = address(0);
        emit OwnershipAccepted(msg.sender);
    }
}
